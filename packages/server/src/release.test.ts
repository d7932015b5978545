import assert from "node:assert/strict";
import { test } from "node:test";
import { release, releaseAll } from "./release.ts";

const LARGE_BYTES = 64 * 1024;

test("large bytes lose their memory; small ones and parts of a buffer keep it", () => {
	const [large, small, shared] = [LARGE_BYTES, LARGE_BYTES - 1, LARGE_BYTES].map((size) => new Uint8Array(size));
	assert.ok(large && small && shared);
	const part = shared.subarray(1);
	for (const bytes of [large, small, part]) release(bytes);
	assert.deepEqual([large.length, small.length, part.length], [0, LARGE_BYTES - 1, LARGE_BYTES - 1]);
});

test("all large bytes of a value lose their memory, however deep they are", () => {
	const operation = ["secrets", "promote", [{ row: { value: Buffer.alloc(LARGE_BYTES), key: "A" } }], null];
	const { value } = (operation[2] as { row: { value: Buffer } }[])[0]?.row ?? {};
	releaseAll(operation);
	assert.equal(value?.length, 0);
});
