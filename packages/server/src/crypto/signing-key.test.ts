import assert from "node:assert/strict";
import { test } from "node:test";
import { signingKey } from "./signing-key.ts";

const ID = Buffer.alloc(8);

test("the first vector of RFC 8032 gives its public key and signature", () => {
	const key = signingKey(ID, Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex"));
	assert.equal(key.publicKey.toString("hex"), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
	assert.equal(
		key.sign(Buffer.alloc(0)).toString("hex"),
		"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
	);
});

test("a signature is valid for its message and key only", () => {
	const key = signingKey(ID, Buffer.alloc(32, 1));
	const signature = key.sign(Buffer.from("message"));
	assert.equal(key.verify(Buffer.from("message"), signature), true);
	assert.equal(key.verify(Buffer.from("massage"), signature), false);
	assert.equal(key.verify(Buffer.from("message"), signature.subarray(1)), false);
	assert.equal(signingKey(ID, Buffer.alloc(32, 2)).verify(Buffer.from("message"), signature), false);
});
