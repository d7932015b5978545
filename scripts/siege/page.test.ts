import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ATTACKS, PAIRS } from "../../test/siege/attacks.ts";
import { readKept } from "./keep.ts";
import { AND, renderPage, titleOf } from "./page.ts";

const names = [...ATTACKS.keys(), ...PAIRS.map((pair) => pair.join(AND))];
const titles = new Set(names.map(titleOf));

const page = readFileSync(new URL("../../bench/SIEGE.md", import.meta.url), "utf8");

/** The titles in each table of the page: of attacks, and of memory after equal ones. */
const tables = page
	.split(/\n{2,}/)
	.filter((part) => part.startsWith("| attack |"))
	.map((part) => [...part.matchAll(/^\| (.+?) \|/gm)].slice(2).map(([, title = ""]) => title));

test("SIEGE.md shows every attack and pair once", () => {
	const shown = tables[0] ?? [];
	// `npm run siege -- --only` measures those that are missing.
	const missing = names.filter((name) => !shown.includes(titleOf(name)));
	assert.deepEqual({ missing, rows: shown.length }, { missing: [], rows: names.length });
});

test("SIEGE.md shows no attack that is gone", () => {
	assert.deepEqual(
		tables.flat().filter((title) => !titles.has(title)),
		[],
	);
});

test("SIEGE.md is the page of the siege that it names", () => {
	const [, description = ""] = /^Siege of [\d-]+: (.+?)\. \d+ cores/m.exec(page) ?? [];
	const kept = readKept(description);
	assert.ok(kept);
	assert.equal(page, renderPage(kept));
});
