/* The verdicts of Wycheproof on the primitives that this server uses; see vectors/wycheproof/README.md. */
import assert from "node:assert/strict";
import { createDecipheriv, createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";
import { test } from "node:test";
import { JOSEError } from "jose/errors";
import { compactVerify } from "jose/jws/compact/verify";
import { isCanonical } from "./session.ts";
import gcm from "./vectors/wycheproof/aes-256-gcm.json" with { type: "json" };
import ecdsa from "./vectors/wycheproof/ecdsa-p256-sha256.json" with { type: "json" };
import ed25519 from "./vectors/wycheproof/ed25519.json" with { type: "json" };
import hmac from "./vectors/wycheproof/hmac-sha256.json" with { type: "json" };
import jws from "./vectors/wycheproof/jws-hs256.json" with { type: "json" };
import rsa from "./vectors/wycheproof/rsa-pkcs1-2048-sha256.json" with { type: "json" };

const hex = (text: string) => Buffer.from(text, "hex");

/** Compares a verdict with ours; an "acceptable" one may be either. */
function compare(
	name: string,
	{ tcId, comment, result }: { tcId: number; comment: string; result: string },
	isValid: boolean,
) {
	if (result !== "acceptable") assert.equal(isValid, result === "valid", `${name} ${tcId}: ${comment}`);
}

test("AES-256-GCM, by which everything is sealed, opens what is whole and nothing else", () => {
	for (const one of gcm) {
		const decipher = createDecipheriv("aes-256-gcm", hex(one.key), hex(one.iv), { authTagLength: 16 });
		decipher.setAAD(hex(one.aad)).setAuthTag(hex(one.tag));
		let opened: Buffer | undefined;
		try {
			opened = Buffer.concat([decipher.update(hex(one.ct)), decipher.final()]);
		} catch {}
		compare("aes-gcm", one, opened?.equals(hex(one.msg)) === true);
	}
});

test("HMAC-SHA256, by which cursors are authenticated, is what it should be, cut short too", () => {
	for (const one of hmac) {
		const tag = hex(one.tag);
		const made = createHmac("sha256", hex(one.key)).update(hex(one.msg)).digest().subarray(0, tag.length);
		compare("hmac", one, timingSafeEqual(made, tag));
	}
});

const SIGNATURES = [
	["Ed25519, by which checkpoints are signed", ed25519, null],
	["ECDSA on P-256, by which certificates are signed", ecdsa, "sha256"],
	["RSA, by which identity providers sign", rsa, "sha256"],
] as const;

for (const [name, groups, digest] of SIGNATURES) {
	test(`${name}: a signature holds when it is one`, () => {
		for (const { public_key, tests } of groups) {
			const key = createPublicKey({ key: hex(public_key), format: "der", type: "spki" });
			for (const one of tests) compare(name, one, verify(digest, hex(one.msg), key, hex(one.sig)));
		}
	});
}

test("JWS with HS256, by which sessions are signed, is verified when it is well-formed and signed with the key", async () => {
	for (const { key, tests } of jws) {
		for (const one of tests) {
			const verified = compactVerify(one.jws, Buffer.from(key, "base64url"), { algorithms: ["HS256"] });
			const isValid = await verified.then(
				() => true,
				(error: unknown) => {
					assert.ok(error instanceof JOSEError, String(error));
					return false;
				},
			);
			// jose accepts other spellings of a signature: we refuse such a token before it gets there.
			compare("jws", one, isValid && isCanonical(one.jws));
		}
	}
});
