import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { TIMING } from "./model.ts";
import { createRestarts } from "./restarts.ts";

/** Makes a source of random bytes that are all the same. */
const always = (byte: number) => ({ randomBytes: (size: number) => Buffer.alloc(size, byte) });

/** Stops the clock. @returns a function that lets milliseconds pass */
function stopClock(t: TestContext): (ms: number) => void {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	return (ms) => {
		now += ms;
	};
}

test("pauses double from 0.25 s with each failure, and are up to a quarter shorter", (t) => {
	stopClock(t);
	for (const [byte, share] of [
		[0, 1],
		[255, 0.75],
	] as const) {
		const restarts = createRestarts(TIMING, always(byte));
		assert.equal(restarts.pause(), 0);
		for (const expected of [250, 500, 1000, 2000, 4000]) {
			restarts.failed("x");
			const pause = restarts.pause();
			assert.ok(Math.abs(pause - expected * share) < expected / 50, `${pause} is not ${expected * share}`);
			assert.equal(restarts.refusal(), undefined);
		}
	}
});

test("the sixth failure opens the breaker; the next attempt is after 30 s", (t) => {
	const pass = stopClock(t);
	const restarts = createRestarts(TIMING, always(0));
	for (let failures = 0; failures < 5; failures++) restarts.failed("x");
	assert.equal(restarts.isOpen(), false);
	restarts.failed("the process exited with status 1");
	assert.equal(restarts.isOpen(), true);
	pass(29_999);
	assert.match(restarts.refusal() ?? "", /at last, the process exited with status 1$/);
	pass(1);
	assert.equal(restarts.refusal(), undefined);
	assert.match(restarts.refusal() ?? "", /left alone/, "one attempt");
	assert.equal(restarts.pause(), 0, "an attempt that is let through is not held up");
});

test("failures that lie further apart than the window do not open it", (t) => {
	const pass = stopClock(t);
	for (const [apart_ms, isOpen] of [
		[12_000, false],
		[11_999, true],
	] as const) {
		const restarts = createRestarts(TIMING, always(0));
		for (let failures = 0; failures < 8; failures++) {
			restarts.failed("x");
			pass(apart_ms);
		}
		assert.equal(restarts.isOpen(), isOpen);
	}
});

test("an answer closes it, and the failures before it are forgotten", () => {
	const restarts = createRestarts({ ...TIMING, probe_ms: 0 }, always(0));
	for (let failures = 0; failures < 6; failures++) restarts.failed("x");
	assert.equal(restarts.refusal(), undefined, "the attempt");
	restarts.succeeded();
	assert.deepEqual([restarts.isOpen(), restarts.refusal()], [false, undefined]);
	restarts.failed("x");
	assert.equal(restarts.isOpen(), false);
});
