import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { check } from "../../../packages/server/src/http/input.ts";
import { type Asserted, ProviderUnavailable, SsoRefusal } from "../../../packages/server/src/sso/model.ts";
import { readMetadata } from "../../../packages/server/src/sso/oidc/metadata.ts";
import { answering, endLogin } from "../../../packages/server/src/sso/oidc/testing.ts";
import { OidcSettings } from "../../../packages/server/src/sso/settings.ts";
import { newSigningKey, signWith } from "../../peers/oidc-fake.ts";
import type { Target } from "../target.ts";

/** Limit for a provider's answer, in bytes. */
const ANSWER = 1024 * 1024;

const ISSUER = "https://id.example.com";
const settings = check(OidcSettings, {
	...{ issuer: ISSUER, client_id: "svc", client_secret: "secret", groups_claim: "groups" },
});
const METADATA = {
	issuer: ISSUER,
	authorization_endpoint: `${ISSUER}/authorize`,
	token_endpoint: `${ISSUER}/token`,
	jwks_uri: `${ISSUER}/keys`,
	userinfo_endpoint: `${ISSUER}/userinfo`,
};
const FLOW = { redirect_uri: "https://svc.example.com/back", state: "s", nonce: "n", verifier: "v".repeat(43) };

const { key, jwk } = newSigningKey("first");
const ACCESS_TOKEN = "access";
const hash = createHash("sha256").update(ACCESS_TOKEN).digest();
const claims = {
	...{ iss: ISSUER, sub: "mallory", aud: "svc", iat: 1_700_000_000, exp: 9_000_000_000, nonce: FLOW.nonce },
	at_hash: hash.subarray(0, 16).toString("base64url"),
};
const encode = (text: string) => Buffer.from(text).toString("base64url");
const part = (json: object) => encode(JSON.stringify(json));
const signed = [{ alg: "ES256", kid: "first" }, claims].map(part).join(".");
const id_token = `${signed}.${signWith(key)(signed).toString("base64url")}`;

const TOKEN = JSON.stringify({ access_token: ACCESS_TOKEN, token_type: "Bearer", id_token });
const KEYS = JSON.stringify({ keys: [jwk] });
const USERINFO = JSON.stringify({ sub: "mallory", email: "m@example.com", email_verified: true, groups: ["a"] });
const PERSON = {
	...{ issuer: ISSUER, subject: "mallory", email: "m@example.com", email_verified: true, name: undefined },
	groups: ["a"],
};

/** Runs what may end only as our adapter's errors. @returns undefined when it refused */
async function judged<T>(answer: Promise<T>): Promise<T | undefined> {
	try {
		return await answer;
	} catch (error) {
		if (error instanceof SsoRefusal || error instanceof ProviderUnavailable) return undefined;
		throw error;
	}
}

/** Ends a login with these answers of the provider, and the truth in place of those that are missing. */
function identify(lies: Partial<Record<"keys" | "token" | "userinfo", Buffer>>): Promise<Asserted | undefined> {
	const answers = { keys: KEYS, token: TOKEN, userinfo: USERINFO, ...lies };
	return judged(endLogin(settings, METADATA, FLOW, answers));
}

/** Brackets that open and close, with so many characters. */
const deep = (size: number) => "[".repeat(size / 2) + "]".repeat(size / 2);
const NEARLY_ALL = ANSWER - 4096;

/** Answers to a code whose id_token has a header that takes nearly all of the answer. */
const HEADERS = [
	`{"alg":"ES256","kid":"first","x":${deep((NEARLY_ALL * 3) / 4)}}`,
	`{"alg":"ES256","kid":"first",${Array.from({ length: 50_000 }, (_, index) => `"k${index}":0`)}}`,
].map((text) =>
	JSON.stringify({ access_token: "a", token_type: "Bearer", id_token: `${encode(text)}.${part(claims)}.A` }),
);

const JSON_TOKENS = ["{", "}", "[", "]", '"', ":", ",", "null", "1e999", '"__proto__":', "\\u0041"];

/** A discovery document gives addresses with TLS of the issuer that was asked, or is refused. */
export const providerMetadata: Target = {
	sources: ["packages/server/src/sso/oidc/metadata.ts", "packages/server/src/sso/oidc/exchange.ts"],
	max_bytes: ANSWER,
	seeds: [
		JSON.stringify(METADATA),
		`{"issuer":"${ISSUER}"}`,
		JSON.stringify({ ...METADATA, issuer: ISSUER.replace("id", "ID") }),
		"[]",
		"null",
	],
	large: [`{"issuer":"${ISSUER}","x":${deep(NEARLY_ALL)}}`],
	tokens: [
		...JSON_TOKENS,
		...Object.keys(METADATA).map((name) => `"${name}":`),
		ISSUER,
		"http://",
		"https://",
		"@",
		"/",
	],
	parse: (input) => judged(readMetadata(settings, answering(input))),
	async check(input) {
		const found = await judged(readMetadata(settings, answering(input)));
		if (found === undefined) return;
		assert.equal(found.issuer, ISSUER);
		const { authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint = jwks_uri } = found;
		for (const address of [authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint])
			assert.equal(new URL(address).protocol, "https:");
	},
};

const LOGIN = ["oidc", "provider", "keys", "claims", "errors"].map((name) => `packages/server/src/sso/oidc/${name}.ts`);

/** A login needs the key that signed its id_token, among at most 100. */
export const providerKeys: Target = {
	sources: LOGIN,
	max_bytes: ANSWER,
	seeds: [
		KEYS,
		JSON.stringify({ keys: [newSigningKey("other").jwk, jwk] }),
		JSON.stringify({
			keys: [
				{ kty: "oct", k: "AAAA", kid: "first" },
				{ ...jwk, kid: undefined },
			],
		}),
		JSON.stringify({ keys: [{ ...jwk, x: "AA" }] }),
		JSON.stringify({ keys: [jwk, ...Array(100).fill({ kty: "oct" })] }),
		'{"keys":[]}',
	],
	large: [`{"keys":[{"kid":"first","x":${deep(NEARLY_ALL)}}]}`],
	tokens: [...JSON_TOKENS, '"kty":"RSA"', '"alg":"ES256"', '"use":"enc"', '"key_ops":[]', '"kid":"first"', '"x":"AA"'],
	parse: (keys) => identify({ keys }),
	async check(input) {
		const found = await identify({ keys: input });
		if (found === undefined) return;
		assert.deepEqual(found, PERSON);
		const { keys } = JSON.parse(input.toString()) as { keys: { x?: unknown }[] };
		assert.ok(keys.length <= 100);
		const x = Buffer.from(String(jwk.x), "base64url");
		assert.ok(keys.some((one) => Buffer.from(String(one.x), "base64url").equals(x)));
	},
};

/** An answer to a code identifies the person whom the provider's signature names, or nobody. */
export const tokenResponse: Target = {
	sources: LOGIN,
	max_bytes: ANSWER,
	seeds: [
		TOKEN,
		TOKEN.replace(ACCESS_TOKEN, "another"),
		`{"access_token":"a","token_type":"Bearer","id_token":"${part({ alg: "none" })}.${part(claims)}."}`,
		'{"error":"invalid_grant"}',
		'{"error":"invalid_client","error_description":"x"}',
	],
	large: [...HEADERS, `{"access_token":"a","token_type":"Bearer","x":${deep(NEARLY_ALL)}}`],
	tokens: [...JSON_TOKENS, '"access_token":', '"id_token":', '"expires_in":', '"error":', ".", signed, id_token],
	parse: (token) => identify({ token }),
	async check(token) {
		const found = await identify({ token });
		if (found !== undefined) assert.deepEqual(found, PERSON);
	},
};

/** Userinfo adds claims to the person whom the id_token names, and is refused for another. */
export const userinfo: Target = {
	sources: LOGIN,
	max_bytes: ANSWER,
	seeds: [USERINFO, '{"sub":"mallory","email":7,"name":"","groups":["a",null,""]}', '{"sub":"alice"}', "{}", "[]"],
	large: [`{"sub":"mallory","x":${deep(NEARLY_ALL)}}`],
	tokens: [...JSON_TOKENS, '"sub":"mallory"', '"sub":"alice"', '"email":', '"email_verified":true', '"groups":"a"'],
	parse: (answer) => identify({ userinfo: answer }),
	async check(input) {
		const found = await identify({ userinfo: input });
		if (found === undefined) return;
		const { sub } = JSON.parse(input.toString()) as { sub?: unknown };
		assert.equal(sub, "mallory");
		assert.equal(found.subject, "mallory");
		for (const text of [found.email ?? "-", found.name ?? "-", ...found.groups])
			assert.ok(typeof text === "string" && text !== "");
	},
};
