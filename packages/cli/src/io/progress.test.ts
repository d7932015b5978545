import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fakeIo } from "../testing/terminal.ts";
import { withProgress, withQuestion } from "./progress.ts";

/** Sequence that clears the line. */
const ERASE = "\r\u001b[K";

/** Makes work during which the line is updated. */
function longWork(t: TestContext) {
	t.mock.timers.enable({ apis: ["setInterval"] });
	return async (report: (far: string) => void): Promise<string> => {
		report("1/2");
		t.mock.timers.tick(250);
		return "done";
	};
}

test("on a terminal one line says what is going on and how far it is, and goes away", async (t) => {
	const { io, outcome } = fakeIo({ typed: [] });
	assert.equal(await withProgress({ io, options: {} }, "copying", longWork(t)), "done");
	const { stdout, stderr } = outcome(0);
	assert.equal(stdout, "");
	const [before, first, ...others] = stderr.split(ERASE);
	assert.deepEqual([before, first, others.pop()], ["", "copying", ""]);
	assert.ok(others.length > 0 && others.every((line) => /^copying: 1\/2(?:, \d+ s)?$/.test(line)), stderr);
});

test("the line disappears before a failure is shown, and is never wider than the terminal", async () => {
	const { io, outcome } = fakeIo({ typed: [] });
	const failing = withProgress({ io, options: {} }, "x".repeat(500), () => Promise.reject(new Error("no")));
	await assert.rejects(failing, /no/);
	const lines = outcome(0).stderr.split(ERASE);
	assert.ok(lines.length === 3 && lines.at(-1) === "");
	assert.ok(lines.every((line) => line.length < 100));
});

test("nothing is said without a terminal, on a dumb one, and with --json", async (t) => {
	const work = longWork(t);
	for (const [surroundings, options] of [
		[{}, {}],
		[{ typed: [], env: { TERM: "dumb" } }, {}],
		[{ typed: [] }, { json: true }],
	] as const) {
		const { io, outcome } = fakeIo(surroundings);
		assert.equal(await withProgress({ io, options }, "copying", work), "done");
		assert.equal(outcome(0).stderr, "");
	}
});

test("the progress line disappears while svc asks a question, and a failure is reported", async () => {
	const { io, outcome } = fakeIo({ typed: [] });
	const printer = { io, options: {} };
	const adopt = async (confirm: (found: string) => Promise<boolean>) => ((await confirm("what")) ? "done" : "not done");
	const ask = async (found: string) => {
		io.stderr.write(found);
		return false;
	};
	assert.equal(await withQuestion(printer, ["looking", "doing"], adopt, ask), "not done");
	assert.equal(outcome(0).stderr, `${ERASE}looking${ERASE}what${ERASE}doing${ERASE}`);
	const failing = withQuestion(printer, ["a", "b"], adopt, () => Promise.reject(new Error("interrupted")));
	await assert.rejects(failing, /interrupted/);
	const nothing = withQuestion(printer, ["a", "b"], () => Promise.reject(new Error("nothing there")), ask);
	await assert.rejects(nothing, /nothing there/);
});

test("work that blocks the event loop still shows its steps", async () => {
	const { io, outcome } = fakeIo({ typed: [] });
	await withProgress({ io, options: {} }, "packing", async (report) => {
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120);
		report("second step");
	});
	assert.equal(outcome(0).stderr, `${ERASE}packing${ERASE}packing: second step${ERASE}`);
});
