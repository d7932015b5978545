import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { system } from "../system.ts";
import { makeToken, tokenDigest } from "./api-token.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function checksum(body: string): string {
	let digits = "";
	for (let rest = crc32(body); digits.length < 6; rest = Math.floor(rest / 62))
		digits = DIGITS.charAt(rest % 62) + digits;
	return digits;
}

test("a token has its shape, its prefix and the digest it is looked up by", () => {
	const { token, prefix, digest } = makeToken(system.randomBytes);
	assert.match(token, /^svc_[0-9A-Za-z]{46}$/);
	assert.equal(prefix, token.slice(0, 12));
	assert.deepEqual(digest, hash("sha256", token, "buffer"));
	assert.deepEqual(tokenDigest(token), digest);
});

test("the last six characters are the CRC-32 of the rest in base62", () => {
	const { token } = makeToken(system.randomBytes);
	assert.equal(token.slice(-6), checksum(token.slice(0, -6)));
	// The check value of CRC-32, 0xcbf43926, in base62.
	assert.equal(checksum("123456789"), "3jZRME");
});

test("a token with any one character changed is refused", () => {
	const { token } = makeToken(system.randomBytes);
	for (let at = 0; at < token.length; at++) {
		for (const digit of ["0", "z", "_", "é"]) {
			const changed = token.slice(0, at) + digit + token.slice(at + 1);
			assert.equal(tokenDigest(changed) === undefined, changed !== token, `character ${at}`);
		}
	}
});

test("anything that is not a token is refused", () => {
	const { token } = makeToken(system.randomBytes);
	const wrong = [
		"",
		"svc_",
		token.slice(0, -1),
		`${token}0`,
		`${token}\n`,
		` ${token}`,
		token.toUpperCase(),
		"A".repeat(1_000_000),
	];
	for (const text of wrong) assert.equal(tokenDigest(text), undefined);
});

test("a right checksum in another shape is refused", () => {
	const body = makeToken(system.randomBytes).token.slice(0, -6);
	assert.ok(tokenDigest(body + checksum(body)));
	for (const other of [
		body.replace("svc_", "abc_"),
		`${body}0`,
		body.slice(0, -1),
		`${body.slice(0, -1)}-`,
		`${body.slice(0, -1)}é`,
	]) {
		assert.equal(tokenDigest(other + checksum(other)), undefined);
	}
});

test("bytes that would favour some digits are thrown away", () => {
	const rounds = [Buffer.alloc(40, 248), Buffer.alloc(40, 255), Buffer.from([247, 0]), Buffer.alloc(38, 62)];
	const sizes: number[] = [];
	const { token } = makeToken((size) => {
		sizes.push(size);
		return rounds.shift() ?? Buffer.alloc(size);
	});
	assert.equal(token.slice(4, 44), `z0${"0".repeat(38)}`);
	assert.deepEqual(sizes, [40, 40, 40, 38]);
});

test("every digit is drawn equally often", () => {
	const counts = new Map<string, number>();
	for (let round = 0; round < 2_000; round++) {
		for (const digit of makeToken(system.randomBytes).token.slice(4, 44))
			counts.set(digit, (counts.get(digit) ?? 0) + 1);
	}
	const expected = 80_000 / 62;
	const chiSquared = DIGITS.split("").reduce(
		(sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected,
		0,
	);
	// 61 degrees of freedom: fair digits exceed 150 once in a hundred million runs, a plain remainder is near 500.
	assert.ok(chiSquared < 150, `chi squared ${chiSquared}`);
});
