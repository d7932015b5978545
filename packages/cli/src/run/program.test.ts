import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import test from "node:test";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { fakeIo } from "../testing/terminal.ts";
import { codeOf, type Program, runProgram } from "./program.ts";

const env = { PATH: "/usr/bin:/bin" };
const masked = ["hunter22"];

const end = async (io: Io, program: Program) => codeOf(await runProgram(io, program));

/** Pipes that would keep this process alive. */
const openPipes = () => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
const OPEN_PIPES = openPipes();

test("output that cannot be written ends the program with an error", async () => {
	const full = new Writable({
		write: (_chunk, _encoding, done) => done(Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" })),
	});
	const stderr = new PassThrough();
	const io = { ...fakeIo().io, stdout: full, stderr };
	const said = text(stderr);
	await assert.rejects(end(io, { command: "sh", args: ["-c", "yes; echo $? >&2"], env, masked }), {
		code: "ENOSPC",
	});
	stderr.end();
	assert.match(await said, /1\n$/, "the program's own writing has failed");
});

test("a slow reader holds the program up instead of filling the memory", async () => {
	let bytes = 0;
	const slow = new Writable({
		highWaterMark: 1,
		write: (chunk: Buffer, _encoding, done) => {
			bytes += chunk.length;
			setImmediate(done);
		},
	});
	const io = { ...fakeIo().io, stdout: slow };
	assert.equal(await end(io, { command: "head", args: ["-c", "20000000", "/dev/zero"], env, masked }), 0);
	assert.equal(bytes, 20_000_000);
});

test("nothing is lost to a reader that pauses after the program has ended", async () => {
	let [bytes, pauses] = [0, 1];
	const paused = new Writable({
		highWaterMark: 1,
		write: (chunk: Buffer, _encoding, done) => {
			bytes += chunk.length;
			// Longer than the wait for processes that a program leaves running.
			setTimeout(done, bytes > 1_000_000 && pauses-- > 0 ? 4000 : 0);
		},
	});
	const io = { ...fakeIo().io, stdout: paused };
	const command = { command: "sh", args: ["-c", "head -c 1100000 /dev/zero; exit 3"], env, masked };
	assert.equal(await end(io, command), 3);
	assert.equal(bytes, 1_100_000);
});

for (const [what, args, more, kind, hint] of [
	[
		"too much for the system",
		[],
		Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`N${n}`, "x".repeat(1e5)])),
		"notExecutable",
		/--only and --except/,
	],
	["a word that the system cannot take", ["a\0b"], {}, "notExecutable", /NUL/],
	["no such program", [], { PATH: "/nowhere" }, "noSuchCommand", /PATH/],
] as const) {
	test(`a program that cannot be started, with ${what}, leaves nothing of it behind`, { timeout: 60_000 }, async () => {
		const signals = new EventEmitter();
		const io = { ...fakeIo().io, on: signals.on.bind(signals), off: signals.off.bind(signals) };
		await assert.rejects(end(io, { command: "true", args, env: { ...env, ...more }, masked }), (error) => {
			assert.ok(error instanceof Failure);
			assert.equal(error.kind, kind);
			assert.match(error.hint ?? "", hint);
			return true;
		});
		assert.deepEqual(signals.eventNames(), []);
		while (openPipes() > OPEN_PIPES) await new Promise(setImmediate);
	});
}
