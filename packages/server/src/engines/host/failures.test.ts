import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CORE, createFailures, ENGINE } from "./failures.ts";
import { TIMING } from "./model.ts";

const MANY = 6;
const without = { randomBytes: (size: number) => Buffer.alloc(size) };

/** Stops the clock; the answers are the memory, and what lets so many milliseconds pass. */
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
	assert.match(failures.refusal("a") ?? "", /left alone for a while; at last, why$/);
	for (const who of ["b", CORE]) assert.deepEqual([failures.refusal(who), failures.pause(who)], [undefined, 0]);
	assert.equal(failures.isOpen(), true);
	failures.succeeded("b");
	assert.notEqual(failures.refusal("a"), undefined, "somebody else's answer proves nothing");
	pass(30_000);
	assert.equal(failures.refusal("a"), undefined, "the attempt");
	failures.succeeded("a");
	assert.deepEqual([failures.refusal("a"), failures.isOpen()], [undefined, false]);
});

test("an engine that fails by itself is left alone by every realm, and the core asks it every five seconds", (t) => {
	const { failures, fail, pass } = setUp(t);
	fail(ENGINE, MANY);
	assert.notEqual(failures.refusal("a"), undefined);
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
