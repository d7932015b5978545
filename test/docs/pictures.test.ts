import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = "docs/pictures";
const MOST_BYTES = 120 * 1024;

test("the README shows each picture once, with a text for people who do not see it, and none is large", () => {
	const readme = readFileSync(resolve(ROOT, "README.md"), "utf8");
	const shown = [...readme.matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, text = "", path = ""]) => ({ text, path }));
	for (const { text, path } of shown) assert.ok(text.length >= 40, path);
	const files = readdirSync(resolve(ROOT, FOLDER)).map((name) => `${FOLDER}/${name}`);
	assert.ok(files.length > 0);
	assert.deepEqual(new Set(shown.map(({ path }) => path)), new Set(files));
	assert.equal(shown.length, files.length);
	for (const file of files) assert.ok(statSync(resolve(ROOT, file)).size <= MOST_BYTES, file);
});
