import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { type KeySet, keySetOf, MAX_PART_KEYS, partHash, setHash } from "./key-parts.ts";

const keys = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `KEY_${from + at}`);
const keysIn = ({ parts }: KeySet) => parts.flatMap((part) => part.keys?.split("\n") ?? []);
const lengths = ({ parts }: KeySet) => parts.map((part) => part.keys?.split("\n").length ?? 0);
const hashes = ({ parts }: KeySet) => new Set(parts.map((part) => part.hash));

test("a set's hash depends on its keys alone, not on their order or on repeats", () => {
	const some = keys(2000);
	const { hash } = keySetOf(some);
	assert.equal(keySetOf(some.toReversed().concat(some)).hash, hash);
	assert.notEqual(keySetOf(some.slice(1)).hash, hash);
	assert.notEqual(keySetOf(["AB"]).hash, keySetOf(["A", "B"]).hash);
});

test("the parts have all keys, each once, in byte order, and hashes that another program can compute", () => {
	const set = keySetOf(["b", "B", "a/b", "a.b", "_"]);
	assert.deepEqual(
		set.parts.map((part) => part.keys),
		["B\n_\na.b\na/b\nb"],
	);
	const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
	const [part = ""] = hashes(set);
	assert.equal(part, sha256("svc-audit-key-part-v1\nB\n_\na.b\na/b\nb"));
	assert.equal(set.hash, sha256(`svc-audit-key-set-v1\n${part}`));
	assert.deepEqual(new Set(keysIn(keySetOf(keys(5000)))), new Set(keys(5000)));
	assert.equal(keysIn(keySetOf(keys(5000))).length, 5000);
	assert.equal(setHash(["b", "a"]), setHash(["a", "b"]));
	assert.equal(partHash("x").length, 64);
});

test("no part is too large, and there are no more of them than half-full ones would be", () => {
	for (const count of [1, MAX_PART_KEYS, MAX_PART_KEYS + 1, 3000, 50_000]) {
		const set = keySetOf(keys(count));
		assert.ok(Math.max(...lengths(set)) <= MAX_PART_KEYS, `${count}`);
		assert.ok(set.parts.length <= Math.ceil((count * 2.2) / MAX_PART_KEYS), `${count}: ${set.parts.length}`);
	}
});

test("a key more or less changes one part, also among keys that somebody chose to fall together", () => {
	const together = keys(60_000).filter((key) => createHash("sha256").update(key).digest()[0] === 0);
	for (const given of [keys(6000), [...keys(2000), ...together]]) {
		const before = hashes(keySetOf(given));
		for (const one of keys(5, 1_000_000)) {
			const added = hashes(keySetOf([...given, one])).difference(before);
			assert.ok(added.size <= 2, `${added.size} parts are new`);
		}
		for (const at of [0, 7, given.length - 1]) {
			const left = hashes(keySetOf(given.toSpliced(at, 1))).difference(before);
			assert.ok(left.size <= 1, `${left.size} parts are new`);
		}
	}
});
