import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CORE, coreFor, createFailures, createRestarts, ENGINE } from "./failures.ts";
import { TIMING } from "./model.ts";

const MANY = 6;
const without = { randomBytes: (size: number) => Buffer.alloc(size) };

/** Stops the clock. @returns the memory of failures, and functions that add failures or let milliseconds pass */
function setUp(t: TestContext) {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	const failures = createFailures(TIMING, without);
	return {
		failures,
		fail: (of: string, times = 1) => Array.from({ length: times }, () => failures.failed(of, "why")).at(-1),
		pass(ms: number) {
			now += ms;
		},
	};
}

test("the failures of one realm's calls refuse that realm alone", (t) => {
	const { failures, fail, pass } = setUp(t);
	assert.equal(fail("a", MANY - 1), false);
	assert.equal(fail("a"), true);
	assert.match(failures.refusal("a") ?? "", /\bsuspended\b.*: why$/);
	for (const who of ["b", CORE]) assert.deepEqual([failures.refusal(who), failures.pause(who)], [undefined, 0]);
	assert.deepEqual([failures.isOpen(), failures.refused()], [false, ["a"]]);
	failures.succeeded("b");
	assert.notEqual(failures.refusal("a"), undefined, "somebody else's answer proves nothing");
	pass(30_000);
	assert.equal(failures.refusal("a"), undefined, "the attempt");
	failures.succeeded("a");
	assert.deepEqual([failures.refusal("a"), failures.refused()], [undefined, []]);
});

test("an engine that fails by itself is left alone by every realm, and the core asks it every five seconds", (t) => {
	const { failures, fail, pass } = setUp(t);
	fail(ENGINE, MANY);
	assert.notEqual(failures.refusal("a"), undefined);
	assert.deepEqual([failures.isOpen(), failures.refused()], [true, []]);
	assert.deepEqual([failures.refusal(CORE), failures.pause(CORE)], [undefined, 5000]);
	pass(5000);
	assert.equal(failures.pause(CORE), 0);
	assert.notEqual(failures.refusal("a"), undefined);
});

test("the core's own failures refuse nobody, and the core waits for five seconds at most", (t) => {
	const { failures, fail, pass } = setUp(t);
	assert.equal(fail(CORE, 3 * MANY), false);
	assert.deepEqual([failures.refusal(CORE), failures.refusal("a"), failures.pause("a")], [undefined, undefined, 0]);
	assert.equal(failures.pause(CORE), 5000);
	pass(5000);
	assert.equal(failures.pause(CORE), 0);
});

test("what ends an engine as the core revokes for one realm makes the core wait for that realm alone", (t) => {
	const { failures, fail, pass } = setUp(t);
	assert.equal(fail(coreFor("a"), 3 * MANY), false);
	assert.deepEqual([failures.refusal(coreFor("a")), failures.pause(coreFor("a"))], [undefined, 5000]);
	for (const who of [coreFor("b"), CORE, "a", "b"])
		assert.deepEqual([failures.refusal(who), failures.pause(who)], [undefined, 0]);
	assert.deepEqual([failures.isOpen(), failures.refused()], [false, []]);
	pass(5000);
	assert.equal(failures.pause(coreFor("a")), 0);
	for (let realm = 0; realm < 30; realm++) fail(coreFor(`realm ${realm}`));
	failures.started();
	assert.equal(failures.pause("b"), 0, "and no realm's calls are paced by it");
	fail("a", MANY);
	assert.deepEqual([failures.refusal(coreFor("a")), failures.pause(coreFor("a"))], [undefined, 0]);
});

test("however many realms take turns in failing, processes are started for them one a second", (t) => {
	const { failures, fail, pass } = setUp(t);
	failures.started();
	for (let realm = 0; realm < 20; realm++) fail(`realm ${realm}`);
	assert.equal(failures.pause("new"), 0);
	fail("one more");
	assert.deepEqual([failures.pause("new"), failures.pause(CORE)], [1000, 0]);
	pass(400);
	assert.equal(failures.pause("new"), 600);
	pass(600);
	assert.equal(failures.pause("new"), 0);
	failures.started();
	assert.equal(failures.pause("new"), 1000);
	pass(60_000);
	assert.equal(failures.pause("new"), 0);
});

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

test("pauses double from 0.25 s with each failure, minus up to a quarter at random", (t) => {
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
	assert.match(restarts.refusal() ?? "", /\bstatus 1$/);
	pass(1);
	assert.equal(restarts.refusal(), undefined);
	assert.match(restarts.refusal() ?? "", /suspended/, "one attempt");
	assert.equal(restarts.pause(), 0, "an attempt that is let through is not held up");
});

test("failures further apart than the window do not open the breaker", (t) => {
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

test("an answer closes the breaker and clears its failures", () => {
	const restarts = createRestarts({ ...TIMING, probe_ms: 0 }, always(0));
	for (let failures = 0; failures < 6; failures++) restarts.failed("x");
	assert.equal(restarts.refusal(), undefined, "the attempt");
	restarts.succeeded();
	assert.deepEqual([restarts.isOpen(), restarts.refusal()], [false, undefined]);
	restarts.failed("x");
	assert.equal(restarts.isOpen(), false);
});
