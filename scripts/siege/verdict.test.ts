import assert from "node:assert/strict";
import { test } from "node:test";
import { renderTable } from "./page.ts";
import type { Figures, Leftover, Run } from "./result.ts";
import { judge } from "./verdict.ts";

const NOTHING: Leftover = { descriptors: 1, established: 0, close_wait: 0, fin_wait2: 0, limits: { connections: 1 } };
const GOOD: Run = {
	at: "2026-01-01T00:00:00.000Z",
	idle: figures(5),
	attacked: figures(40),
	memory_idle_mb: 120,
	memory_peak_mb: 300,
	longest_turn_ms: 20,
	held: NOTHING,
	left: NOTHING,
	end: { ms: 100, code: 0 },
	was_killed: false,
	counts: [],
};

function figures(p99: number, more: Partial<Figures> = {}): Figures {
	return {
		kept_p50_ms: 1,
		kept_p99_ms: p99,
		fresh_p50_ms: 2,
		fresh_p99_ms: p99,
		failures: 0,
		windows: 4,
		dropped: 0,
		...more,
	};
}

const judged = (...changes: Partial<Run>[]) =>
	judge(
		["silent-plain"],
		changes.map((change) => ({ ...GOOD, ...change })),
	);

test("a run within every bound holds", () => {
	assert.equal(judged({}).holds, true);
});

test("what an ordinary client gets may take three times as long as idle, or 50 ms", () => {
	assert.equal(judged({ attacked: figures(51) }).holds, false);
	assert.equal(judged({ idle: figures(18), attacked: figures(51) }).holds, true);
	assert.equal(judged({ attacked: figures(40, { fresh_p99_ms: 51 }) }).holds, false);
	assert.equal(judged({ attacked: figures(40, { kept_p99_ms: 51 }) }).holds, false);
});

test("the middle one of several runs counts, and the worst of what is left", () => {
	assert.equal(judged({ attacked: figures(9000) }, {}, {}).holds, true);
	assert.equal(judged({ attacked: figures(9000) }, { attacked: figures(9000) }, {}).holds, false);
	assert.deepEqual(judged({ left: { ...NOTHING, close_wait: 1 } }, {}, {}).left, ["1 CLOSE_WAIT"]);
	assert.equal(judged({ end: { ms: 100, code: null } }, {}, {}).holds, false);
});

test("a run during which others took the machine counts only where there is no other", () => {
	const noisy = { attacked: figures(9000, { dropped: 4 }) };
	assert.equal(judged(noisy).holds, false);
	assert.equal(judged(noisy, noisy, {}).holds, true);
	assert.equal(judged(noisy, noisy, {}).noisy, 2);
	assert.equal(judged({ ...noisy, left: { ...NOTHING, close_wait: 1 } }, {}).holds, false);
});

for (const [what, change] of Object.entries<Partial<Run>>({
	"257 MB more": { memory_peak_mb: 377 },
	"three descriptors": { left: { ...NOTHING, descriptors: 3 } },
	"three connections": { left: { ...NOTHING, established: 3 } },
	"one FIN_WAIT2": { left: { ...NOTHING, fin_wait2: 1 } },
	"a part of a limit": { left: { ...NOTHING, limits: { answers: 3 } } },
	"what should have been cut off": { held: { ...NOTHING, descriptors: 200 } },
	"an end that takes 10 s": { end: { ms: 10_001, code: 0 } },
	"a process that had to be killed": { was_killed: true, held: null, left: null, end: null },
})) {
	test(`an attack with ${what} does not hold, and the table says so`, () => {
		assert.equal(judged(change).holds, false);
		assert.match(renderTable({ "silent-plain": [{ ...GOOD, ...change }] }), /\| \*\*no\*\* \|$/);
	});
}

test("two attacks at once may take 400 MB", () => {
	const runs = [{ ...GOOD, memory_peak_mb: 500 }];
	assert.equal(judge(["silent-plain"], runs).holds, false);
	assert.equal(judge(["silent-plain", "flood"], runs).holds, true);
});

test("connections that may stay open while an attacker waits are not held against the server", () => {
	assert.equal(judge(["flood"], [{ ...GOOD, held: { ...NOTHING, descriptors: 256, established: 256 } }]).holds, true);
});
