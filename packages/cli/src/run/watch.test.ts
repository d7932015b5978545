import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";
import { codeOf, type Program } from "./program.ts";
import { runWatched } from "./watch.ts";

const PATH = "/usr/bin:/bin";

/** Runs a program under a watch that sees these values in turn, and then always the last. */
async function watched(script: string, values: readonly (string | undefined)[]) {
	const programOf = (VALUE: string): Program => ({ command: "sh", args: ["-c", script], env: { PATH, VALUE } });
	const left = [...values];
	let restarts = 0;
	const ended = await runWatched(fakeIo().io, programOf("1"), {
		...{ interval_ms: 1, settle_ms: 1 },
		kill_after_ms: 60_000,
		check: async () => {
			const value = left.length > 1 ? left.shift() : left[0];
			return value === undefined ? undefined : programOf(value);
		},
		restarts: async () => {
			restarts++;
		},
	});
	return { code: await codeOf(ended), restarts };
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

for (const signal of ["SIGTERM", "SIGINT"] as const) {
	test(`a program that ${signal} ends is not started again, however long it takes to end`, {
		timeout: 60_000,
	}, async () => {
		await using folder = await temporaryFolder();
		const [ready, go] = [join(folder.path, "ready"), join(folder.path, "go")];
		const script = `trap : TERM INT; test "$VALUE" = 2 && exit 5; : > ${ready}; until test -e ${go}; do sleep 0.05; done; exit 7`;
		const programOf = (VALUE: string): Program => ({ command: "sh", args: ["-c", script], env: { PATH, VALUE } });
		const signals = new EventEmitter();
		const io = { ...fakeIo().io, on: signals.on.bind(signals), off: signals.off.bind(signals) };
		let looks = 0;
		const ended = await runWatched(io, programOf("1"), {
			...{ interval_ms: 1, settle_ms: 1 },
			kill_after_ms: 60_000,
			check: async () => {
				if (looks === 0 && !existsSync(ready)) return programOf("1");
				if (looks === 0) signals.emit(signal, signal);
				// By then the change is known and counts as settled.
				if (++looks === 2) setTimeout(() => writeFileSync(go, ""), 100);
				return programOf("2");
			},
			restarts: () => assert.fail("it is started again"),
		});
		assert.equal(await codeOf(ended), 7);
	});
}
