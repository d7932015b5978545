import assert from "node:assert/strict";
import { JsonError, parseJson } from "../../../packages/protocol/src/index.ts";
import { IssuerUnavailable } from "../../../packages/server/src/trusts/fetch.ts";
import { keysAddress, keysOfSet } from "../../../packages/server/src/trusts/issuer-keys.ts";
import { newKey } from "../../peers/issuer.ts";
import { accepted, type Target } from "../target.ts";

/** Limit for an issuer's document, in bytes. */
const DOCUMENT = 64 * 1024;

const ISSUER = "https://id.example.com";
const HOST = "keys.example.com";
const discovered = { issuer: ISSUER, jwks_uri: `https://${HOST}/keys`, more: [1, { a: null }] };

/** A document leads to an address only when it names the issuer that was asked, and then to no other host than was recorded. */
export const discovery: Target = {
	sources: ["packages/server/src/trusts/issuer-keys.ts", "packages/protocol/src/json.ts"],
	max_bytes: DOCUMENT,
	seeds: [JSON.stringify(discovered), `{"issuer":"${ISSUER}"}`, `{"issuer":"${ISSUER}","jwks_uri":"::"}`, "[]", "null"],
	tokens: [
		"{",
		"}",
		'"',
		":",
		",",
		'"issuer":',
		'"jwks_uri":',
		ISSUER,
		`https://${HOST}`,
		"http://",
		"@",
		"\\u0041",
		"/",
	],
	check(input) {
		const document = accepted(JsonError, () => parseJson(input));
		if (document === undefined) return;
		const address = accepted(IssuerUnavailable, () => keysAddress(document, ISSUER, HOST));
		if (address === undefined) return;
		assert.equal((document as { issuer: unknown }).issuer, ISSUER);
		assert.equal(new URL(address).host, HOST);
	},
};

const [ec, rsa] = [newKey("ES256", "first"), newKey("RS256", "second")];

/** A key set gives public keys alone, as many as can be used, or is refused. */
export const keySet: Target = {
	sources: ["packages/server/src/trusts/issuer-keys.ts", "packages/server/src/trusts/jwks.ts"],
	max_bytes: DOCUMENT,
	seeds: [
		JSON.stringify({ keys: [ec.jwk, rsa.jwk] }),
		JSON.stringify({
			keys: [
				{ ...ec.jwk, d: "AA" },
				{ kty: "oct", k: "AAAA" },
				{ ...rsa.jwk, e: "AQ" },
			],
		}),
		'{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}',
		'{"keys":[]}',
		"{}",
	],
	tokens: [
		"{",
		"}",
		"[",
		"]",
		'"',
		",",
		'"kty":"EC"',
		'"crv":"P-521"',
		'"x":"AA"',
		'"n":"',
		'"e":"AQAB"',
		'"d":"AA"',
		'"use":"enc"',
		'"key_ops":["verify"]',
	],
	check(input) {
		const document = accepted(JsonError, () => parseJson(input));
		if (document === undefined) return;
		const keys = accepted(IssuerUnavailable, () => keysOfSet(document));
		if (keys === undefined) return;
		assert.ok(keys.length > 0 && keys.length <= (document as { keys: unknown[] }).keys.length);
		for (const { key, kind } of keys) {
			assert.equal(key.type, "public");
			assert.ok(["RSA", "P-256", "P-384", "P-521", "Ed25519"].includes(kind));
		}
	},
};
