import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readShipped } from "./shipped-file.ts";

test("from source, a file that comes with the program is the file beside its source", () => {
	assert.deepEqual(
		readShipped(new URL("./shipped-file.ts", import.meta.url)),
		readFileSync(`${import.meta.dirname}/shipped-file.ts`),
	);
});
