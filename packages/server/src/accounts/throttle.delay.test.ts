import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestThrottle } from "../testing/throttle.ts";

const HERE = "192.0.2.1";

/** A throttle that counts the refusals which wait, and a time that the test sets. */
function setUp() {
	const found = { waited: 0, now: 0 };
	const known = { knows: async () => false };
	const throttle = createTestThrottle(
		known,
		() => found.now,
		async () => void found.waited++,
	);
	const queue = { run: <T>(_: unknown, check: () => Promise<T>) => check() };
	const login = (ip: string) => throttle.attempt(queue, "ada@example.com", ip, async (failed) => failed());
	return { found, throttle, login };
}

const refused = { code: "rate_limited" };

test("a hundred refusals a minute of one source are sent immediately, and further ones wait", async () => {
	const { found, login } = setUp();
	for (let count = 0; count < 5; count++) await login(HERE);
	for (let count = 0; count < 100; count++) await assert.rejects(login(HERE), refused);
	assert.equal(found.waited, 0);
	await assert.rejects(login(HERE), refused);
	assert.equal(found.waited, 1);

	for (let count = 0; count < 5; count++) await login("192.0.2.2");
	await assert.rejects(login("192.0.2.2"), refused);
	assert.equal(found.waited, 1, "another source has its own hundred");

	found.now += 61_000;
	await login(HERE);
	await assert.rejects(login(HERE), refused);
	assert.equal(found.waited, 1, "a minute later it has a hundred again");
});

test("refused registrations and sign-ons count as refusals, too", async () => {
	const { found, throttle } = setUp();
	for (let count = 0; count < 300; count++) await throttle.registration(HERE);
	for (let count = 0; count < 600; count++) await throttle.refused(HERE);
	for (let count = 0; count < 50; count++) {
		await assert.rejects(throttle.registration(HERE), refused);
		await assert.rejects(throttle.checkRefusals(HERE), refused);
	}
	assert.equal(found.waited, 0);
	await assert.rejects(throttle.registration(HERE), refused);
	await assert.rejects(throttle.checkRefusals(HERE), refused);
	assert.equal(found.waited, 2);
});
