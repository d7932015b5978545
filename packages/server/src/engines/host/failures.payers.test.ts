import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createPayerFailures, MAX_FAILURES_OF_PAYER } from "./failures.ts";

const WINDOW_MS = 60_000;

/** Stops the clock. @returns the record, and functions that add failures or let milliseconds pass */
function setUp(t: TestContext) {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	const failures = createPayerFailures(WINDOW_MS);
	return {
		failures,
		fail: (payer: string, times = 1, engine = "shelf") =>
			Array.from({ length: times }, () => failures.failed(engine, payer)).at(-1),
		isRefused: (payer: string, engine = "shelf") => failures.refusal(engine, payer) !== undefined,
		pass(ms: number) {
			now += ms;
		},
	};
}

test("an account that makes an engine fail too often is refused this engine, and nobody else", (t) => {
	const { failures, fail, isRefused } = setUp(t);
	assert.equal(fail("ada", MAX_FAILURES_OF_PAYER - 1), false);
	assert.deepEqual([isRefused("ada"), failures.limit.used()], [false, MAX_FAILURES_OF_PAYER - 1]);
	assert.deepEqual([fail("ada"), fail("ada")], [true, false], "it begins once");
	assert.match(failures.refusal("shelf", "ada") ?? "", /\bsuspended\b.*\(engine_failures_per_account\)/);
	assert.deepEqual([isRefused("bob"), isRefused("ada", "other")], [false, false]);
	assert.deepEqual([failures.limit.used(), failures.limit.refused?.()], [MAX_FAILURES_OF_PAYER, 1]);
});

test("a failure counts for a minute", (t) => {
	const { failures, fail, isRefused, pass } = setUp(t);
	fail("ada");
	pass(1);
	fail("ada", MAX_FAILURES_OF_PAYER - 1);
	assert.equal(isRefused("ada"), true);
	pass(WINDOW_MS - 1);
	assert.equal(isRefused("ada"), false);
	assert.deepEqual([fail("ada"), isRefused("ada")], [true, true]);
	pass(WINDOW_MS);
	assert.deepEqual([isRefused("ada"), failures.limit.used()], [false, 0]);
});

test("a thousand accounts are remembered", (t) => {
	const { failures, fail, isRefused } = setUp(t);
	fail("ada", MAX_FAILURES_OF_PAYER);
	for (let payer = 0; payer < 1000; payer++) fail(`payer ${payer}`);
	assert.equal(isRefused("ada"), true);
	for (let payer = 0; payer < 5000; payer++) fail(`another ${payer}`);
	assert.equal(isRefused("ada"), false);
	assert.equal(failures.limit.used(), 1);
});
