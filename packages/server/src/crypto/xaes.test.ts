import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { importKey, open, seal } from "./xaes.ts";

const VECTORS = [
	{ key: "01", aad: "", box: "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271", msb: 0 },
	{ key: "03", aad: "c2sp.org/XAES-256-GCM", box: "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d", msb: 1 },
];
const NONCE = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWX");
const PLAINTEXT = Buffer.from("XAES-256-GCM");

for (const vector of VECTORS) {
	test(`the published vector with a subkey of top bit ${vector.msb} seals and opens`, () => {
		const key = importKey(Buffer.from(vector.key.repeat(32), "hex"));
		const aad = Buffer.from(vector.aad);
		assert.equal(seal(key, NONCE, PLAINTEXT, aad).toString("hex"), vector.box);
		assert.deepEqual(open(key, NONCE, Buffer.from(vector.box, "hex"), aad), PLAINTEXT);
	});
}

test("ten thousand random messages give the published accumulated hash, and each opens again", () => {
	const stream = createHash("shake128", { outputLength: 4_000_000 }).digest();
	const boxes = createHash("shake128", { outputLength: 32 });
	let at = 0;
	const read = (size: number) => {
		at += size;
		return stream.subarray(at - size, at);
	};
	for (let round = 0; round < 10_000; round++) {
		const key = importKey(read(32));
		const nonce = read(24);
		const plaintext = read(read(1).readUInt8());
		const aad = read(read(1).readUInt8());
		const box = seal(key, nonce, plaintext, aad);
		boxes.update(box);
		assert.ok(open(key, nonce, box, aad)?.equals(plaintext));
	}
	assert.ok(at <= stream.length);
	assert.equal(boxes.digest("hex"), "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939");
});

test("a box does not open with another key, nonce or associated data, or without its last byte", () => {
	const key = importKey(Buffer.alloc(32, 1));
	const aad = Buffer.from("aad");
	const box = seal(key, NONCE, PLAINTEXT, aad);
	const otherNonce = Buffer.from(NONCE);
	otherNonce[0] = 0;
	assert.ok(open(key, NONCE, box, aad));
	assert.equal(open(importKey(Buffer.alloc(32, 2)), NONCE, box, aad), undefined);
	assert.equal(open(key, otherNonce, box, aad), undefined);
	assert.equal(open(key, NONCE.subarray(1), box, aad), undefined);
	assert.equal(open(key, NONCE, box, Buffer.from("AAD")), undefined);
	assert.equal(open(key, NONCE, box.subarray(0, -1), aad), undefined);
	assert.equal(open(key, NONCE, box.subarray(0, 15), aad), undefined);
});

test("a key and a nonce of the wrong length are refused", () => {
	assert.throws(() => importKey(Buffer.alloc(31)), RangeError);
	assert.throws(() => seal(importKey(Buffer.alloc(32)), Buffer.alloc(12), PLAINTEXT, Buffer.alloc(0)), RangeError);
});
