import assert from "node:assert/strict";
import { test } from "node:test";
import { createDisk } from "./disk.ts";

const MIB = 1024 * 1024;

/** A disk of `size` MiB, with `free` of them free, and `available` to this process. */
const disk = (size: number, free: number, available = free) =>
	createDisk("/", () => ({ bsize: MIB, blocks: size, bfree: free, bavail: available }));

test("64 MiB are kept of a large disk, and a twentieth of a small one", () => {
	const isNearlyFull = (size: number, free: number) => disk(size, free).isNearlyFull();
	assert.deepEqual([isNearlyFull(100_000, 63), isNearlyFull(100_000, 64)], [true, false]);
	assert.deepEqual([isNearlyFull(100, 4), isNearlyFull(100, 5)], [true, false]);
});

test("a disk is low below 15 % of what this process may have of it", () => {
	assert.deepEqual([disk(1000, 149).isLow(), disk(1000, 150).isLow()], [true, false]);
	assert.deepEqual([disk(1100, 240, 140).isLow(), disk(1100, 250, 150).isLow()], [true, false]);
});
