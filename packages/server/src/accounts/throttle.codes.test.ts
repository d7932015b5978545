/* Wrong second-factor codes, typed by people who already have the password. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { createTestThrottle } from "../testing/throttle.ts";

const ADA = "ada@example.com";
const HERE = "192.0.2.1";
const ELSEWHERE = "203.0.113.9";

/** A throttle whose clock the test moves; it knows the account at one source. */
function setUp() {
	let now = 0;
	let late = 0;
	const knows = async (_: string, source: string) => source === HERE;
	const throttle = createTestThrottle(
		{ knows },
		() => now,
		async () => void late++,
	);
	return {
		throttle,
		/** Refusals that were kept back. */
		late: () => late,
		guess: (ip: string) => throttle.wrongCode(ADA, ip),
		pass: (seconds: number) => {
			now += seconds * 1000;
		},
		/** Seconds that a code has to wait; 0 when it is looked at. */
		async waitOf(ip: string): Promise<number> {
			try {
				await throttle.checkCodes(ADA, ip);
				return 0;
			} catch (error) {
				assert.ok(error instanceof AppError && error.code === "rate_limited", String(error));
				return Number(error.headers["retry-after"]);
			}
		},
	};
}

test("ten wrong codes of an account, from anywhere, make strangers wait, twice as long with each, up to 15 minutes", async () => {
	const { guess, pass, waitOf } = setUp();
	for (let count = 1; count < 10; count++) await guess(`198.51.100.${count}`);
	assert.equal(await waitOf(ELSEWHERE), 0);
	await guess("198.51.100.10");
	assert.equal(await waitOf(ELSEWHERE), 1);
	assert.equal(await waitOf(HERE), 0, "the owner is known here");
	await guess("198.51.100.11");
	assert.equal(await waitOf(ELSEWHERE), 2);
	for (let count = 12; count < 30; count++) await guess(`198.51.100.${count}`);
	assert.equal(await waitOf(ELSEWHERE), 900);
	// After the wait one more guess costs as much again: no quarter of an hour has ten free ones.
	pass(900);
	assert.equal(await waitOf(ELSEWHERE), 0);
	await guess(ELSEWHERE);
	assert.equal(await waitOf(ELSEWHERE), 900);
});

test("wrong codes from a source at which the account is known are counted there alone", async () => {
	const { guess, waitOf } = setUp();
	for (let count = 0; count < 10; count++) await guess(HERE);
	assert.equal(await waitOf(HERE), 1);
	assert.equal(await waitOf(ELSEWHERE), 0);
});

test("a code that has to wait is refused immediately, however often: its sender holds a place in the queue", async () => {
	const { guess, waitOf, late } = setUp();
	for (let count = 0; count < 20; count++) await guess(ELSEWHERE);
	for (let count = 0; count < 200; count++) assert.notEqual(await waitOf(ELSEWHERE), 0);
	assert.equal(late(), 0);
});

test("registrations, refused logins, exchanges of JWTs and wrong codes are limits: their use and refusals show, and a refusal names its limit", async () => {
	const { throttle, guess } = setUp();
	for (let count = 0; count < 300; count++) await throttle.registration(ELSEWHERE);
	for (let count = 0; count < 600; count++) await throttle.refused(ELSEWHERE);
	for (let count = 0; count < 1200; count++) await throttle.exchange(ELSEWHERE);
	for (let count = 0; count < 10; count++) await guess(ELSEWHERE);
	const attempts = [
		() => throttle.registration(ELSEWHERE),
		() => throttle.checkRefusals(ELSEWHERE),
		() => throttle.exchange(ELSEWHERE),
		() => throttle.checkCodes(ADA, ELSEWHERE),
	];
	const refused = await Promise.all(attempts.map((attempt) => attempt().catch(String)));
	const limits = throttle.limits.filter(({ name }) => !name.startsWith("failed_logins"));
	const names = limits.map(({ name }) => name);
	assert.deepEqual(names, [
		...["registrations_per_minute_per_source", "refused_logins_per_minute_per_source"],
		...["jwt_exchanges_per_minute_per_source", "wrong_codes_per_day_per_account"],
	]);
	for (const [index, limit] of limits.entries()) {
		assert.match(refused[index] ?? "", new RegExp(`too many .*\\(${limit.name}\\)`));
		assert.deepEqual([await limit.used(), limit.refused?.()], [limit.max, 1], limit.name);
	}
});
