import assert from "node:assert/strict";
import test from "node:test";
import { fakeIo } from "../testing/terminal.ts";
import type { Program } from "./program.ts";
import { runWatched } from "./watch.ts";

const PATH = "/usr/bin:/bin";

/** Runs a program under a watch that sees these values one after the other, and then always the last. */
async function watched(script: string, values: readonly (string | undefined)[]) {
	const programOf = (VALUE: string): Program => ({ command: "sh", args: ["-c", script], env: { PATH, VALUE } });
	const left = [...values];
	let restarts = 0;
	const code = await runWatched(fakeIo().io, programOf("1"), {
		interval_ms: 1,
		kill_after_ms: 60_000,
		look: async () => {
			const value = left.length > 1 ? left.shift() : left[0];
			return value === undefined ? undefined : programOf(value);
		},
		restarts: async () => {
			restarts++;
		},
	});
	return { code, restarts };
}

test("changes that follow each other mean one restart, with the last of them", async () => {
	const script = `test "$VALUE" = 4 && exit 5; exec sleep 60`;
	assert.deepEqual(await watched(script, ["1", "2", "3", "4", "4"]), { code: 5, restarts: 1 });
});

test("a change that is taken back, and what cannot be read, start nothing", async () => {
	const script = `test "$VALUE" = 4 && exit 5; exec sleep 60`;
	assert.deepEqual(await watched(script, ["2", "1", undefined, "1", "4", undefined, "4"]), { code: 5, restarts: 1 });
});

test("a program that ends by itself ends the watch", async () => {
	assert.deepEqual(await watched("exit 3", ["1"]), { code: 3, restarts: 0 });
});
