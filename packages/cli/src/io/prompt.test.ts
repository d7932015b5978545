import assert from "node:assert/strict";
import test from "node:test";
import { fakeIo } from "../testing/terminal.ts";
import { ask, askHidden, confirm } from "./prompt.ts";

const TYPED: readonly (readonly [keys: string, line: string])[] = [
	["correct horse\r", "correct horse"],
	["correct horse\r\n", "correct horse"],
	["wrong\u0015right\r", "right"],
	["rigth\u007f\u007fht\r", "right"],
	["🗝️ü\u007fö\r", "🗝️ö"],
	["\u007f\b\r", ""],
	["tab\there\r", "tab\there"],
];

for (const [keys, line] of TYPED) {
	test(`typing ${JSON.stringify(keys)} at a hidden question gives ${JSON.stringify(line)} and shows nothing`, async () => {
		const { io, outcome } = fakeIo({ typed: [keys] });
		const raw: boolean[] = [];
		assert.equal(
			await askHidden(
				{ ...io, stdin: Object.assign(io.stdin, { setRawMode: (on: boolean) => raw.push(on) }) },
				"Value: ",
			),
			line,
		);
		assert.equal(outcome(0).stderr, "Value: \n");
		assert.deepEqual(raw, [true, false]);
	});
}

test("what is typed at a hidden question is not shown once the question is there", async () => {
	let isHidden = false;
	const seen: [text: string, isHidden: boolean][] = [];
	const { io } = fakeIo({ typed: ["quick\r"], heard: (text) => seen.push([text, isHidden]) });
	const setRawMode = (on: boolean) => {
		isHidden = on;
	};
	assert.equal(await askHidden({ ...io, stdin: Object.assign(io.stdin, { setRawMode }) }, "Value: "), "quick");
	assert.deepEqual(seen, [
		["Value: ", true],
		["\n", false],
	]);
});

test("a line that arrives in pieces, even in the middle of a character, is one line", async () => {
	const { io } = fakeIo({ typed: [] });
	const answer = askHidden(io, "Value: ");
	for (const piece of [
		Buffer.from("a"),
		Buffer.from("ü").subarray(0, 1),
		Buffer.from("ü").subarray(1),
		"\u001b[A",
		"\r",
	])
		io.stdin.push(piece);
	assert.equal(await answer, "aü");
});

test("interrupting a question ends it, and the terminal is as before", async () => {
	for (const key of ["\u0003", "\u0004"]) {
		const { io } = fakeIo({ typed: [`half${key}`] });
		const raw: boolean[] = [];
		const stdin = Object.assign(io.stdin, { setRawMode: (on: boolean) => raw.push(on) });
		await assert.rejects(askHidden({ ...io, stdin }, "Value: "), { exitCode: 130 });
		assert.deepEqual(raw, [true, false]);
	}
});

test("several pasted lines are refused, because all but the first would be lost", async () => {
	const { io } = fakeIo({ typed: ["-----BEGIN KEY-----\rabc\r"] });
	await assert.rejects(askHidden(io, "Value: "), { exitCode: 2 });
});

test("only yes is yes", async () => {
	for (const [typed, yes] of [
		["y\n", true],
		["YES\n", true],
		["\n", false],
		["no\n", false],
		["yep\n", false],
	] as const) {
		assert.equal(await confirm(fakeIo({ typed: [typed] }).io, "Sure?"), yes);
	}
});

test("nobody is asked where there is no terminal", async () => {
	await assert.rejects(ask(fakeIo({ stdin: "x\n" }).io, "E-mail: "), { exitCode: 2 });
});
