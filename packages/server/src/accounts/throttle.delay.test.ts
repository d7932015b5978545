import assert from "node:assert/strict";
import { test } from "node:test";
import { createThrottle } from "./throttle.ts";

const HERE = "192.0.2.1";

test("a refusal waits before it is sent, and nothing else does", async () => {
	let refusals = 0;
	const known = { knows: async () => false };
	const throttle = createThrottle(known, undefined, async () => void refusals++);
	const queue = { run: <T>(_: unknown, check: () => Promise<T>) => check() };
	const login = () => throttle.attempt(queue, "ada@example.com", HERE, async (failed) => failed());
	const refused = { code: "rate_limited" };

	for (let count = 0; count < 5; count++) await login();
	assert.equal(refusals, 0);
	await assert.rejects(login(), refused);
	assert.equal(refusals, 1);

	for (let count = 0; count < 300; count++) await throttle.registration(HERE);
	assert.equal(refusals, 1);
	await assert.rejects(throttle.registration(HERE), refused);
	assert.equal(refusals, 2);

	for (let count = 0; count < 600; count++) throttle.refused(HERE);
	await assert.rejects(throttle.checkRefusals(HERE), refused);
	assert.equal(refusals, 3);
});
