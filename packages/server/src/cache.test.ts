import assert from "node:assert/strict";
import { test } from "node:test";
import { createCache } from "./cache.ts";

test("a cache holds as many entries as it may, those that were used last", () => {
	const cache = createCache<string, number>(3);
	for (const [index, key] of ["a", "b", "c"].entries()) cache.set(key, index);
	cache.get("a");
	cache.set("d", 3);
	cache.set("d", 4);
	assert.deepEqual(
		["a", "b", "c", "d"].map((key) => cache.get(key)),
		[0, undefined, 2, 4],
	);
	cache.delete("a");
	cache.set("e", 5);
	assert.deepEqual([...cache.keys()], ["e", "d", "c"]);
});

test("a cache of many entries takes their room when they come", () => {
	const many = Array.from({ length: 200 }, () => createCache<string, number>(1_000_000));
	// Allocated at once, they would take 5 GB.
	assert.equal(many.length, 200);
});
