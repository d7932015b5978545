/* The verdicts of Wycheproof on the primitives that this server uses; see vectors/wycheproof/README.md. */
import assert from "node:assert/strict";
import {
	constants,
	createDecipheriv,
	createHmac,
	createPublicKey,
	hkdfSync,
	timingSafeEqual,
	verify,
} from "node:crypto";
import { test } from "node:test";
import { JOSEError } from "jose/errors";
import { compactVerify } from "jose/jws/compact/verify";
import { isCanonical } from "./session.ts";
import gcm from "./vectors/wycheproof/aes-256-gcm.json" with { type: "json" };
import p256 from "./vectors/wycheproof/ecdsa-p256-sha256.json" with { type: "json" };
import p384 from "./vectors/wycheproof/ecdsa-p384-sha384.json" with { type: "json" };
import p521 from "./vectors/wycheproof/ecdsa-p521-sha512.json" with { type: "json" };
import ed25519 from "./vectors/wycheproof/ed25519.json" with { type: "json" };
import hkdf from "./vectors/wycheproof/hkdf-sha256.json" with { type: "json" };
import hmacSha1 from "./vectors/wycheproof/hmac-sha1.json" with { type: "json" };
import hmacSha256 from "./vectors/wycheproof/hmac-sha256.json" with { type: "json" };
import jws from "./vectors/wycheproof/jws-hs256.json" with { type: "json" };
import rs256 from "./vectors/wycheproof/rsa-pkcs1-2048-sha256.json" with { type: "json" };
import rs384 from "./vectors/wycheproof/rsa-pkcs1-2048-sha384.json" with { type: "json" };
import rs512 from "./vectors/wycheproof/rsa-pkcs1-2048-sha512.json" with { type: "json" };
import ps256 from "./vectors/wycheproof/rsa-pss-2048-sha256.json" with { type: "json" };
import ps384 from "./vectors/wycheproof/rsa-pss-2048-sha384.json" with { type: "json" };
import ps512 from "./vectors/wycheproof/rsa-pss-4096-sha512.json" with { type: "json" };

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

for (const [name, vectors, digest] of [
	["HMAC-SHA256, by which cursors are authenticated", hmacSha256, "sha256"],
	["HMAC-SHA1, by which codes of authenticator apps are made", hmacSha1, "sha1"],
] as const) {
	test(`${name}, is what it should be, cut short too`, () => {
		for (const one of vectors) {
			const tag = hex(one.tag);
			const made = createHmac(digest, hex(one.key)).update(hex(one.msg)).digest().subarray(0, tag.length);
			compare(name, one, timingSafeEqual(made, tag));
		}
	});
}

test("HKDF-SHA256, by which keys are derived, is what it should be, up to its largest output", () => {
	for (const one of hkdf) {
		let made: ArrayBuffer | undefined;
		try {
			made = hkdfSync("sha256", hex(one.ikm), hex(one.salt), hex(one.info), one.size);
		} catch {}
		compare("hkdf", one, made !== undefined && Buffer.from(made).equals(hex(one.okm)));
	}
});

/** As JWTs have it: both numbers, each of a fixed length. */
const PAIR = { dsaEncoding: "ieee-p1363" } as const;
const pss = (saltLength: number) => ({ padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });

const SIGNATURES = [
	["Ed25519, by which checkpoints are signed", ed25519, null, {}],
	["ECDSA on P-256, by which certificates are signed", p256, "sha256", {}],
	["ES384, by which JWTs are signed", p384, "sha384", PAIR],
	["ES512, by which JWTs are signed", p521, "sha512", PAIR],
	["RSA, by which identity providers sign", rs256, "sha256", {}],
	["RS384, by which JWTs are signed", rs384, "sha384", {}],
	["RS512, by which JWTs are signed", rs512, "sha512", {}],
	["PS256, by which JWTs are signed", ps256, "sha256", pss(32)],
	["PS384, by which JWTs are signed", ps384, "sha384", pss(48)],
	["PS512, by which JWTs are signed", ps512, "sha512", pss(64)],
] as const;

for (const [name, groups, digest, options] of SIGNATURES) {
	test(`${name}: a signature holds when it is one`, () => {
		for (const { public_key, tests } of groups) {
			const key = createPublicKey({ key: hex(public_key), format: "der", type: "spki" });
			for (const one of tests) compare(name, one, verify(digest, hex(one.msg), { key, ...options }, hex(one.sig)));
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
