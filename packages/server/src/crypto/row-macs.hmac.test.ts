import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { shortHmac } from "./row-macs.ts";

test("texts of every length and script get the HMAC that Node's stream gives them, whatever came before", () => {
	for (const length of [1, 32, 64]) {
		const key = randomBytes(length);
		const short = shortHmac(key);
		for (const character of ["x", "é", "語", "😀", "\ud800"])
			for (const count of [0, 1, 31, 55, 56, 63, 64, 65, 1023, 1024, 2047, 2048, 2049, 5000, 3]) {
				const text = character.repeat(count);
				assert.equal(short(text), createHmac("sha256", key).update(text).digest("hex"), `${character} × ${count}`);
			}
	}
});

test("the HMAC is that of RFC 4231, test case 2", () => {
	assert.equal(
		shortHmac(Buffer.from("Jefe"))("what do ya want for nothing?"),
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
	);
});
