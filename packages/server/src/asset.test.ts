import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readAsset } from "./asset.ts";

test("from source, a file that comes with the program is the file next to its source", () => {
	assert.deepEqual(readAsset(new URL("./asset.ts", import.meta.url)), readFileSync(`${import.meta.dirname}/asset.ts`));
});
