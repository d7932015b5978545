import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../errors.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

const ADA = "ada@example.com";
const HERE = "192.0.2.1";
const ELSEWHERE = "198.51.100.7";

/** A throttle whose clock is moved by the test. */
function setUp(t: TestContext) {
	t.mock.timers.enable({ apis: ["Date", "setTimeout"], now: Date.parse("2030-01-01T00:00:00Z") });
	const throttle = createThrottle();
	const pass = (seconds: number) => t.mock.timers.tick(seconds * 1000);
	return { throttle, pass };
}

/** Seconds that an attempt has to wait; 0 when it may go on. */
async function waitOf(attempt: Promise<void>): Promise<number> {
	try {
		await attempt;
		return 0;
	} catch (error) {
		assert.ok(error instanceof AppError && error.code === "rate_limited", String(error));
		return Number(error.headers["retry-after"]);
	}
}

async function fail(throttle: Throttle, times: number, email = ADA, ip = HERE): Promise<void> {
	for (let count = 0; count < times; count++) await throttle.loginFailed(email, ip);
}

test("four failures cost nothing, and after the fifth the sixth attempt waits a second", async (t) => {
	const { throttle, pass } = setUp(t);
	for (let count = 0; count < 4; count++) {
		await fail(throttle, 1);
		assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
	}
	await fail(throttle, 1);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 1);
	pass(0.999);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 1);
	pass(0.001);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
});

test("each failure after that doubles the wait", async (t) => {
	const { throttle, pass } = setUp(t);
	await fail(throttle, 4);
	for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256]) {
		await fail(throttle, 1);
		assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), seconds);
		pass(seconds);
		assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
	}
});

test("no wait is longer than a quarter of an hour, however many failures came at once", async (t) => {
	const { throttle, pass } = setUp(t);
	await fail(throttle, 40);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 900);
	pass(900);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
});

test("failures are forgotten a quarter of an hour after the first of them", async (t) => {
	const { throttle, pass } = setUp(t);
	await fail(throttle, 4);
	pass(899);
	await fail(throttle, 1);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 1, "the fifth in time counts");
	pass(2);
	await fail(throttle, 4);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
});

test("an attempt that is refused counts as none: waiting it out is enough", async (t) => {
	const { throttle, pass } = setUp(t);
	await fail(throttle, 5);
	for (let count = 0; count < 100; count++) await waitOf(throttle.checkLogin(ADA, HERE));
	pass(1);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
});

test("attempts that succeed are never counted", async (t) => {
	const { throttle } = setUp(t);
	for (let count = 0; count < 1000; count++) assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
});

test("the owner of an account signs in from elsewhere while somebody guesses", async (t) => {
	const { throttle } = setUp(t);
	await fail(throttle, 30);
	assert.ok((await waitOf(throttle.checkLogin(ADA, HERE))) > 0);
	assert.equal(await waitOf(throttle.checkLogin(ADA, ELSEWHERE)), 0);
	assert.equal(await waitOf(throttle.checkLogin("bob@example.com", HERE)), 0);
});

test("a source that fails on many accounts waits on all of them, and other sources do not", async (t) => {
	const { throttle, pass } = setUp(t);
	for (let count = 0; count < 49; count++) await fail(throttle, 1, `user-${count}@example.com`);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
	await fail(throttle, 1, "user-50@example.com");
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 1);
	assert.equal(await waitOf(throttle.checkLogin(ADA, ELSEWHERE)), 0);
	pass(1);
	for (let count = 0; count < 10; count++) await fail(throttle, 1, `more-${count}@example.com`);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 2, "it doubles with every ten");
});

test("an account that many sources guess at makes everybody wait a little, and never more", async (t) => {
	const { throttle, pass } = setUp(t);
	const guess = (index: number) => fail(throttle, 1, ADA, `203.0.113.${index}`);
	for (let count = 0; count < 99; count++) await guess(count);
	assert.equal(await waitOf(throttle.checkLogin(ADA, ELSEWHERE)), 0);
	for (let count = 99; count < 250; count++) await guess(count);
	assert.equal(await waitOf(throttle.checkLogin(ADA, ELSEWHERE)), 5);
	assert.equal(await waitOf(throttle.checkLogin("bob@example.com", ELSEWHERE)), 0);
	pass(5);
	assert.equal(await waitOf(throttle.checkLogin(ADA, ELSEWHERE)), 0);
});

test("three hundred registrations a minute are taken from a source, and the next minute as many", async (t) => {
	const { throttle, pass } = setUp(t);
	const register = (ip: string) => waitOf(throttle.registration(ip));
	for (let count = 0; count < 300; count++) assert.equal(await register(HERE), 0);
	assert.equal(await register(HERE), 60);
	assert.equal(await register(ELSEWHERE), 0);
	pass(45);
	assert.equal(await register(HERE), 15);
	pass(15);
	for (let count = 0; count < 300; count++) assert.equal(await register(HERE), 0);
	assert.ok((await register(HERE)) > 0);
});

test("registrations and logins do not count against each other", async (t) => {
	const { throttle } = setUp(t);
	for (let count = 0; count < 301; count++) await waitOf(throttle.registration(HERE));
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
});

test("a refusal says how long to wait, and neither whom nor where", async (t) => {
	const { throttle } = setUp(t);
	await fail(throttle, 5);
	const message = (pattern: RegExp) => (error: unknown) =>
		error instanceof AppError && error.status === 429 && pattern.test(error.message);
	await assert.rejects(
		throttle.checkLogin(ADA, HERE),
		message(/^too many failed logins from here: try again in 1 second$/),
	);
	await fail(throttle, 1);
	await assert.rejects(
		throttle.checkLogin(ADA, HERE),
		message(/^too many failed logins from here: try again in 2 seconds$/),
	);
	for (let count = 0; count < 300; count++) await throttle.registration(HERE);
	await assert.rejects(
		throttle.registration(HERE),
		message(/^too many registrations from here: try again in 60 seconds$/),
	);
});

test("a source has 600 refused logins a minute written down, and others are not slowed by it", async (t) => {
	const { throttle, pass } = setUp(t);
	for (let count = 0; count < 599; count++) await throttle.refused(HERE);
	assert.equal(await waitOf(throttle.checkRefusals(HERE)), 0);
	await throttle.refused(HERE);
	assert.equal(await waitOf(throttle.checkRefusals(HERE)), 60);
	assert.equal(await waitOf(throttle.checkRefusals(ELSEWHERE)), 0);
	assert.equal(await waitOf(throttle.checkLogin(ADA, HERE)), 0);
	pass(60);
	assert.equal(await waitOf(throttle.checkRefusals(HERE)), 0);
});
