/* The verdicts of Wycheproof on signatures and keys of JWTs; see ../crypto/vectors/wycheproof/README.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isCanonical } from "../crypto/session.ts";
import sets from "../crypto/vectors/wycheproof/json-web-keys.json" with { type: "json" };
import signatures from "../crypto/vectors/wycheproof/jws-public-keys.json" with { type: "json" };
import { findKey, readKeys } from "./jwks.ts";
import type { Claims, Jwt } from "./jwt.ts";
import { JwtRefusal } from "./refusal.ts";
import { verifySignature } from "./verify.ts";

/** Verifies as a trust does, whatever the payload is. */
async function isVerified(jwks: readonly Claims[], text: string): Promise<boolean> {
	const [header = ""] = text.split(".");
	try {
		const { alg, kid }: Pick<Jwt, "alg" | "kid"> = JSON.parse(Buffer.from(header, "base64url").toString());
		const jwt: Jwt = { text, alg, kid, signed: "", is_access_token: false, claims: {} };
		await verifySignature(jwt, findKey(readKeys(jwks), jwt));
		// Another spelling of a signature is refused when the JWT is read.
		return isCanonical(text);
	} catch (error) {
		assert.ok(error instanceof JwtRefusal || error instanceof SyntaxError, String(error));
		return false;
	}
}

for (const [what, groups] of [
	["a JWT is taken when it is signed with the issuer's key and by the key's algorithm", signatures],
	["a key is used when it is a sound public key that is made to verify", sets],
] as const) {
	test(what, async () => {
		for (const { keys, tests } of groups)
			for (const { tcId, comment, result, jws } of tests)
				assert.equal(await isVerified(keys, jws), result === "valid", `${tcId}: ${comment}`);
	});
}
