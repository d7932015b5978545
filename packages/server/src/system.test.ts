import assert from "node:assert/strict";
import { test } from "node:test";
import { madeAtMs, system } from "./system.ts";

test("random bytes are as many as were asked for, of every size", () => {
	for (const size of [0, 1, 8, 16, 24, 32, 1023, 1024, 1025, 4096, 10_000]) {
		assert.equal(system.randomBytes(size).length, size);
	}
});

test("no two random byte strings are alike, nor share a part of eight bytes", () => {
	const seen = new Set<string>();
	let parts = 0;
	for (let count = 0; count < 4000; count++) {
		const bytes = system.randomBytes([8, 24, 32, 1024, 2048][count % 5] ?? 8);
		for (let at = 0; at + 8 <= bytes.length; at += 8) {
			seen.add(bytes.toString("hex", at, at + 8));
			parts++;
		}
	}
	assert.equal(seen.size, parts);
});

test("random bytes are their owner's alone: writing over them changes no others, and they stay as they are", () => {
	const kept = system.randomBytes(24);
	const copy = Buffer.from(kept);
	for (let count = 0; count < 1000; count++) system.randomBytes(24).fill(0);
	assert.deepEqual(kept, copy);
	const after = Array.from({ length: 300 }, () => system.randomBytes(24));
	assert.ok(
		after.every((bytes) => bytes.some((byte) => byte !== 0)),
		"nobody gets what was wiped",
	);
});

test("every byte value comes as often as any other", () => {
	const counts = new Uint32Array(256);
	for (let count = 0; count < 4000; count++)
		for (const byte of system.randomBytes(32)) counts[byte] = (counts[byte] ?? 0) + 1;
	// 500 of each on average, with a deviation of 22: eight deviations are beyond chance.
	assert.ok(
		counts.every((count) => count > 320 && count < 680),
		String(counts),
	);
});

test("ids are UUIDs of version 7, all different, and begin with the time", () => {
	const ids = Array.from({ length: 2000 }, () => system.uuid());
	for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
	assert.equal(new Set(ids).size, ids.length);
	const made = madeAtMs(ids[0] ?? "");
	assert.ok(Math.abs(made - system.now().getTime()) < 60_000);
});

test("the clock is the wall clock, and every reading is a date of its own", () => {
	const before = Date.now();
	const now = system.now();
	assert.ok(now.getTime() >= before && now.getTime() <= Date.now());
	assert.notEqual(system.now(), now);
});
