import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import type { Requester } from "./password-queue.ts";
import type { Throttle } from "./throttle.ts";

const ADA = "ada@example.com";
const HERE = "192.0.2.1";
const ELSEWHERE = "198.51.100.7";

/** Runs a check immediately: the real queue would make it wait for others. */
const queue = { run: <T>(_: unknown, check: () => Promise<T>) => check() };

/** A throttle whose clock the test moves, and which knows these pairs of account and source. */
function setUp(known: [account: string, source: string][] = []) {
	let now = 0;
	const knows = async (account: string, source: string) =>
		known.some((pair) => pair[0] === account && pair[1] === source);
	const at = () => now;
	const throttle = createTestThrottle({ knows }, at, async () => undefined);
	const pass = (seconds: number) => {
		now += seconds * 1000;
	};
	return { throttle, pass };
}

/** Seconds that an attempt has to wait; 0 when it may go on. */
async function waitOf(attempt: () => unknown): Promise<number> {
	try {
		await attempt();
		return 0;
	} catch (error) {
		assert.ok(error instanceof AppError && error.code === "rate_limited", String(error));
		return Number(error.headers["retry-after"]);
	}
}

const login = (throttle: Throttle, email: string, ip: string) => () =>
	throttle.attempt(queue, email, ip, async () => undefined);

/** Makes wrong guesses at the same moment: all are admitted before the first has failed. */
async function failAll(throttle: Throttle, guesses: readonly (readonly [email: string, ip: string])[]): Promise<void> {
	const begun = Promise.withResolvers<void>();
	const attempts = guesses.map(([email, ip]) =>
		throttle.attempt(queue, email, ip, async (failed) => {
			await begun.promise;
			await failed();
		}),
	);
	setImmediate(begun.resolve);
	await Promise.all(attempts);
}

function fail(throttle: Throttle, times: number, email = ADA, ip = HERE): Promise<void> {
	return failAll(throttle, Array(times).fill([email, ip]));
}

const numbered = <T>(count: number, make: (index: number) => T) =>
	Array.from({ length: count }, (_, index) => make(index));

test("four failures cost nothing, and after the fifth the sixth attempt waits a second", async () => {
	const { throttle, pass } = setUp();
	for (let count = 0; count < 4; count++) {
		await fail(throttle, 1);
		assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
	}
	await fail(throttle, 1);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 1);
	pass(0.999);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 1);
	pass(0.001);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("each failure after that doubles the wait", async () => {
	const { throttle, pass } = setUp();
	await fail(throttle, 4);
	for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256]) {
		await fail(throttle, 1);
		assert.equal(await waitOf(login(throttle, ADA, HERE)), seconds);
		pass(seconds);
		assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
	}
});

test("no wait is longer than a quarter of an hour, however many failures came at once", async () => {
	const { throttle, pass } = setUp();
	await fail(throttle, 40);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 900);
	pass(900);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("failures are forgotten a quarter of an hour after the first of them", async () => {
	const { throttle, pass } = setUp();
	await fail(throttle, 4);
	pass(899);
	await fail(throttle, 1);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 1, "the fifth in time counts");
	pass(2);
	await fail(throttle, 4);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("an attempt that is refused counts as none: waiting it out is enough", async () => {
	const { throttle, pass } = setUp();
	await fail(throttle, 5);
	for (let count = 0; count < 100; count++) await waitOf(login(throttle, ADA, HERE));
	pass(1);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("attempts that succeed are never counted", async () => {
	const { throttle } = setUp();
	for (let count = 0; count < 1000; count++) assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("the owner of an account signs in from elsewhere while somebody guesses", async () => {
	const { throttle } = setUp();
	await fail(throttle, 30);
	assert.ok((await waitOf(login(throttle, ADA, HERE))) > 0);
	assert.equal(await waitOf(login(throttle, ADA, ELSEWHERE)), 0);
	assert.equal(await waitOf(login(throttle, "bob@example.com", HERE)), 0);
});

test("a source that fails on many accounts waits on all of them, and other sources do not", async () => {
	const { throttle, pass } = setUp();
	const guessAt = (count: number) =>
		failAll(
			throttle,
			numbered(count, (index) => [`user-${index}@example.com`, HERE]),
		);
	await guessAt(49);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
	await guessAt(1);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 1);
	assert.equal(await waitOf(login(throttle, ADA, ELSEWHERE)), 0);
	pass(1);
	await guessAt(10);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 2, "it doubles with every ten");
});

test("an account that many sources guess at makes strangers wait a little, and never more", async () => {
	const { throttle, pass } = setUp();
	const guessFrom = (count: number) =>
		failAll(
			throttle,
			numbered(count, (index) => [ADA, `203.0.113.${index}`]),
		);
	await guessFrom(99);
	assert.equal(await waitOf(login(throttle, ADA, ELSEWHERE)), 0);
	await guessFrom(151);
	assert.equal(await waitOf(login(throttle, ADA, ELSEWHERE)), 5);
	assert.equal(await waitOf(login(throttle, "bob@example.com", ELSEWHERE)), 0);
	pass(5);
	assert.equal(await waitOf(login(throttle, ADA, ELSEWHERE)), 0);
});

test("an account is never locked out where it is known, whatever 36 addresses do, or its neighbours", async () => {
	const { throttle, pass } = setUp([[ADA, HERE]]);
	let lockedOut = 0;
	for (let round = 0; round < 40; round++) {
		for (const ip of numbered(36, (index) => `203.0.113.${index}`))
			await fail(throttle, 1, ADA, ip).catch(() => undefined);
		assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
		if ((await waitOf(login(throttle, ADA, ELSEWHERE))) > 0) lockedOut++;
		pass(5);
	}
	assert.ok(lockedOut > 30, `strangers waited in ${lockedOut} rounds of 40`);
	await failAll(
		throttle,
		numbered(60, (index) => [`user-${index}@example.com`, HERE]),
	);
	assert.ok((await waitOf(login(throttle, "bob@example.com", HERE))) > 0, "so does its source with other accounts");
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("where an account is known its failures are counted by themselves, and slow down nobody else", async () => {
	const { throttle, pass } = setUp([[ADA, HERE]]);
	await fail(throttle, 4);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
	await fail(throttle, 1);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 1);
	pass(1);
	await fail(throttle, 100);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 900);
	assert.equal(await waitOf(login(throttle, "bob@example.com", HERE)), 0);
	assert.equal(await waitOf(login(throttle, ADA, ELSEWHERE)), 0);
});

test("the addresses of an IPv6 /64 are one source, and those of the next are not", async () => {
	const { throttle } = setUp();
	await failAll(
		throttle,
		numbered(5, (index) => [ADA, `2001:db8:0:1::${index + 1}`]),
	);
	assert.equal(await waitOf(login(throttle, ADA, "2001:db8:0:1:ffff::1")), 1);
	assert.equal(await waitOf(login(throttle, ADA, "2001:db8:0:2::1")), 0);
	for (let count = 0; count < 300; count++) await throttle.registration(`2001:db8:0:1::${count.toString(16)}`);
	assert.equal(await waitOf(() => throttle.registration("2001:db8:0:1:ffff::1")), 60);
	for (let count = 0; count < 600; count++) await throttle.refused(`2001:db8:0:1::${count.toString(16)}`);
	assert.equal(await waitOf(() => throttle.checkRefusals("2001:db8:0:1:ffff::1")), 60);
});

test("an attempt that waited for its turn is refused when another has failed meanwhile", async () => {
	const { throttle } = setUp();
	const turn = Promise.withResolvers<void>();
	const late = { run: <T>(_: unknown, check: () => Promise<T>) => turn.promise.then(check) };
	let isTried = false;
	const attempt = throttle.attempt(late, ADA, HERE, async () => {
		isTried = true;
	});
	await fail(throttle, 5);
	turn.resolve();
	assert.equal(await waitOf(() => attempt), 1);
	assert.equal(isTried, false);
});

test("the queue learns whose turn it is, and whether the account is known there", async () => {
	const { throttle } = setUp([[ADA, HERE]]);
	const requesters: Requester[] = [];
	const asked = {
		run: <T>(requester: Requester, check: () => Promise<T>) => {
			requesters.push(requester);
			return check();
		},
	};
	for (const [email, ip] of [
		[ADA, HERE],
		[ADA, HERE],
		[ADA, ELSEWHERE],
		["bob@example.com", HERE],
	] as const)
		await throttle.attempt(asked, email, ip, async () => undefined);
	const [known, again, elsewhere, other] = requesters;
	assert.deepEqual(known, again);
	assert.deepEqual(
		requesters.map(({ source }) => source),
		[HERE, HERE, ELSEWHERE, HERE],
	);
	assert.ok(known?.known !== undefined && elsewhere?.known === undefined && other?.known === undefined);
	assert.equal(new Set(requesters.map(({ pair }) => pair)).size, 3);
});

test("three hundred registrations a minute are taken from a source, and the next minute as many", async () => {
	const { throttle, pass } = setUp();
	const register = (ip: string) => waitOf(() => throttle.registration(ip));
	for (let count = 0; count < 300; count++) assert.equal(await register(HERE), 0);
	assert.equal(await register(HERE), 60);
	assert.equal(await register(ELSEWHERE), 0);
	pass(45);
	assert.equal(await register(HERE), 15);
	pass(15);
	for (let count = 0; count < 300; count++) assert.equal(await register(HERE), 0);
	assert.ok((await register(HERE)) > 0);
});

test("registrations and logins do not count against each other", async () => {
	const { throttle } = setUp();
	for (let count = 0; count < 301; count++) await waitOf(() => throttle.registration(HERE));
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
});

test("a refusal says how long to wait, and neither whom nor where", async () => {
	const { throttle, pass } = setUp();
	await fail(throttle, 5);
	const message = (pattern: RegExp) => (error: unknown) =>
		error instanceof AppError && error.status === 429 && pattern.test(error.message);
	await assert.rejects(login(throttle, ADA, HERE)(), message(/\blogins\b.* 1 second$/));
	pass(1);
	await fail(throttle, 1);
	await assert.rejects(login(throttle, ADA, HERE)(), message(/\blogins\b.* 2 seconds$/));
	for (let count = 0; count < 300; count++) await throttle.registration(HERE);
	await assert.rejects(throttle.registration(HERE), message(/\bregistrations\b.* 60 seconds$/));
});

test("a source has 600 refused logins a minute written down, and others are not slowed by it", async () => {
	const { throttle, pass } = setUp();
	for (let count = 0; count < 599; count++) await throttle.refused(HERE);
	assert.equal(await waitOf(() => throttle.checkRefusals(HERE)), 0);
	await throttle.refused(HERE);
	assert.equal(await waitOf(() => throttle.checkRefusals(HERE)), 60);
	assert.equal(await waitOf(() => throttle.checkRefusals(ELSEWHERE)), 0);
	assert.equal(await waitOf(login(throttle, ADA, HERE)), 0);
	pass(60);
	assert.equal(await waitOf(() => throttle.checkRefusals(HERE)), 0);
});

test("a source exchanges 1,200 JWTs a minute, and others are not slowed by it", async () => {
	const { throttle, pass } = setUp();
	for (let count = 0; count < 1200; count++) await throttle.exchange(HERE);
	assert.equal(await waitOf(() => throttle.exchange(HERE)), 60);
	assert.equal(await waitOf(() => throttle.exchange(ELSEWHERE)), 0);
	assert.equal(await waitOf(() => throttle.checkRefusals(HERE)), 0, "a refusal is counted apart");
	pass(60);
	assert.equal(await waitOf(() => throttle.exchange(HERE)), 0);
});
