import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createDurably, replaceFile, writeDurably, writeDurablyAsync } from "./durable-file.ts";
import { makeFolder } from "./testing/store.ts";

const modeOf = (file: string) => statSync(file).mode & 0o777;

test("a file is private unless a mode is given, whatever the umask", async (t) => {
	const folder = await makeFolder(t);
	const before = process.umask(0o077);
	t.after(() => void process.umask(before));
	writeDurably(join(folder, "own"), "text");
	writeDurably(join(folder, "program"), Buffer.from("text"), 0o555);
	assert.deepEqual([modeOf(join(folder, "own")), modeOf(join(folder, "program"))], [0o600, 0o555]);
});

test("a replacement that fails leaves the old file as it was", async (t) => {
	const file = join(await makeFolder(t), "file");
	writeDurably(file, "old", 0o444);
	const fail = (draft: string) => {
		writeFileSync(draft, "half");
		throw new Error("no more");
	};
	assert.throws(() => replaceFile(file, 0o600, fail), /no more/);
	assert.deepEqual([readFileSync(file, "utf8"), modeOf(file)], ["old", 0o444]);
});

test("the draft of an interrupted write is replaced, even if it is read-only", async (t) => {
	const folder = await makeFolder(t);
	const file = join(folder, "file");
	writeFileSync(`${file}.new`, "half", { mode: 0o400 });
	writeDurably(file, "whole");
	assert.equal(readFileSync(file, "utf8"), "whole");
	assert.deepEqual(readdirSync(folder), ["file"]);
});

test("a draft with its own name does not touch the drafts of other processes", async (t) => {
	const file = join(await makeFolder(t), "file");
	writeFileSync(`${file}.new`, "another process");
	writeDurably(file, "mine", 0o600, `${file}.1-0`);
	assert.deepEqual([readFileSync(file, "utf8"), existsSync(`${file}.new`)], ["mine", true]);
});

test("a file that is created never replaces another, and leaves no draft", async (t) => {
	const folder = await makeFolder(t);
	const file = join(folder, "file");
	writeFileSync(`${file}.new`, "half", { mode: 0o400 });
	createDurably(file, "first", 0o400);
	assert.throws(() => createDurably(file, "second", 0o400), { code: "EEXIST" });
	assert.deepEqual([readFileSync(file, "utf8"), modeOf(file), readdirSync(folder)], ["first", 0o400, ["file"]]);
});

test("a file that is written without blocking is private and whole, and replaces a draft that was left", async (t) => {
	const folder = await makeFolder(t);
	const file = join(folder, "file");
	writeFileSync(`${file}.new`, "half", { mode: 0o400 });
	await writeDurablyAsync(file, "first");
	await writeDurablyAsync(file, "second");
	assert.deepEqual([readFileSync(file, "utf8"), modeOf(file), readdirSync(folder)], ["second", 0o600, ["file"]]);
});
