import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { splitLines } from "./lines.ts";

const MAX_BYTES = 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Bytes still referenced, in and outside the heap. */
function memoryInUse(): number {
	collectGarbage();
	const { heapUsed, arrayBuffers } = process.memoryUsage();
	return heapUsed + arrayBuffers;
}

/** Returns the lines of these chunks. */
function split(chunks: Iterable<Buffer | string>, maxBytes = 100) {
	const lines: string[] = [];
	let overflows = 0;
	const feed = splitLines(maxBytes, {
		onLine: (line) => lines.push(line.toString("latin1")),
		onOverflow: () => {
			overflows++;
		},
	});
	for (const chunk of chunks) feed(Buffer.from(chunk));
	return { lines, overflows };
}

test("one chunk is one line, several, or none", () => {
	assert.deepEqual(split(["one\n"]).lines, ["one"]);
	assert.deepEqual(split(["one\ntwo\n"]).lines, ["one", "two"]);
	assert.deepEqual(split(["one\ntwo\nthree"]).lines, ["one", "two"]);
	assert.deepEqual(split(["one"]).lines, []);
	assert.deepEqual(split([""]).lines, []);
});

test("a line that comes byte by byte is the same line", () => {
	const text = '{"data":{}}\n\n{"error":"no"}\n';
	assert.deepEqual(split([...text]).lines, ['{"data":{}}', "", '{"error":"no"}']);
});

test("wherever two lines are cut, they are the same lines", () => {
	const text = "one\n\ntwo\n";
	for (let at = 0; at <= text.length; at++) {
		assert.deepEqual(split([text.slice(0, at), text.slice(at)]).lines, ["one", "", "two"], `cut at ${at}`);
	}
});

test("empty lines are lines", () => {
	assert.deepEqual(split(["\n\n", "\n"]).lines, ["", "", ""]);
});

test("only a line feed ends a line, and no byte is read as text", () => {
	assert.deepEqual(split(["a\rb\u0000c\r\n"]).lines, ["a\rb\u0000c\r"]);
	assert.deepEqual(split([Buffer.from([0xff, 0xc3, 0x0a, 0x80, 0x0a])]).lines, ["\xff\xc3", "\x80"]);
});

test("a line may be as long as the limit, in one part or many", () => {
	const longest = "x".repeat(100);
	assert.deepEqual(split([`${longest}\n`]), { lines: [longest], overflows: 0 });
	assert.deepEqual(split([...longest, "\n"]), { lines: [longest], overflows: 0 });
	assert.deepEqual(split([longest, `\n${longest}`, "\n"]), { lines: [longest, longest], overflows: 0 });
});

test("a longer line is reported once, with the lines before it and nothing after it", () => {
	const over = "x".repeat(101);
	const expected = { lines: ["before"], overflows: 1 };
	assert.deepEqual(split([`before\n${over}\nafter\n`]), expected);
	assert.deepEqual(split(["before\n", ...over, "\n", "after\n"]), expected);
	assert.deepEqual(split([`before\n${"x".repeat(60)}`, `${"x".repeat(60)}`, "x\nafter\n", over]), expected);
});

test("a line that was given out does not change when more comes", () => {
	const kept: Buffer[] = [];
	const feed = splitLines(100, { onLine: (line) => kept.push(line), onOverflow: () => {} });
	for (const byte of "first\nsecond\nthird\n") feed(Buffer.from(byte));
	assert.deepEqual(kept.map(String), ["first", "second", "third"]);
});

test("a megabyte that comes byte by byte takes about as much memory as it has bytes", () => {
	const feed = splitLines(MAX_BYTES, { onLine: () => {}, onOverflow: () => {} });
	const before = memoryInUse();
	// A stream's chunks have buffers of their own, not parts of one.
	for (let count = 0; count < MAX_BYTES; count++) feed(Buffer.allocUnsafeSlow(1).fill("x"));
	const taken = memoryInUse() - before;
	feed(Buffer.from("\n"));
	assert.ok(taken > 0 && taken < 8 * MAX_BYTES, `${taken} bytes`);
});

test("a line without end is abandoned at the limit and nothing of it is kept", () => {
	let overflows = 0;
	const feed = splitLines(MAX_BYTES, {
		onLine: () => assert.fail("no line ended"),
		onOverflow: () => {
			overflows++;
		},
	});
	const chunk = Buffer.alloc(65_536, "x");
	const before = memoryInUse();
	for (let count = 0; count < 1024; count++) feed(chunk);
	assert.equal(overflows, 1);
	assert.ok(memoryInUse() - before < 8 * MAX_BYTES);
});
