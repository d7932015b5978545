import assert from "node:assert/strict";
import { test } from "node:test";
import { release } from "./release.ts";

const LARGE_BYTES = 64 * 1024;

test("large buffers are freed; small ones and parts of a buffer are not", () => {
	const [large, small, shared] = [LARGE_BYTES, LARGE_BYTES - 1, LARGE_BYTES].map((size) => new Uint8Array(size));
	assert.ok(large && small && shared);
	const part = shared.subarray(1);
	for (const bytes of [large, small, part]) release(bytes);
	assert.deepEqual([large.length, small.length, part.length], [0, LARGE_BYTES - 1, LARGE_BYTES - 1]);
});
