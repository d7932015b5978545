import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { REFERENCE, referencePage } from "../../scripts/reference-page.ts";

test("the reference is what commands and endpoints say of themselves", async () => {
	const [page, kept] = [await referencePage(), readFileSync(REFERENCE, "utf8")];
	const lines = new Set(kept.split("\n"));
	const news = page.split("\n").filter((line) => !lines.has(line));
	assert.ok(page === kept, `npm run reference writes it anew; the first new lines are\n${news.slice(0, 5).join("\n")}`);
});
