import assert from "node:assert/strict";
import { isClaimPath, valueAt } from "../../../packages/server/src/trusts/claim-paths.ts";
import { findKey, readKeys } from "../../../packages/server/src/trusts/jwks.ts";
import { readJwt } from "../../../packages/server/src/trusts/jwt.ts";
import { JwtRefusal } from "../../../packages/server/src/trusts/refusal.ts";
import { checkClaims, jwtDigest, verifySignature } from "../../../packages/server/src/trusts/verify.ts";
import { githubClaims, newKey, part, signJwt } from "../../peers/issuer.ts";
import { accepted, type Target } from "../target.ts";

const NOW_S = 1_800_000_000;
const [ISSUER, AUDIENCE] = ["https://issuer.example", "https://svc.example.com"];

const key = newKey("ES256", "first");
const keys = readKeys([key.jwk]);
const claims = { ...githubClaims(ISSUER, AUDIENCE, NOW_S), jti: "1" };
const good = signJwt(key, claims);
const [header = "", payload = "", signature = ""] = good.split(".");
const trust = {
	issuer: ISSUER,
	trust_domain: undefined,
	takes_access_tokens: false,
	audience: AUDIENCE,
	claims: { repository_id: "2002", "/repository_owner_id": "1001" },
};

/** A JWT is accepted when it is the one that the issuer signed: its characters, or those of its other signature, and one mark. */
export const jwt: Target = {
	sources: [
		"packages/server/src/trusts/claim-paths.ts",
		"packages/server/src/trusts/jwt.ts",
		"packages/server/src/trusts/jwks.ts",
		"packages/server/src/trusts/verify.ts",
	],
	max_bytes: 64 * 1024,
	seeds: [
		good,
		`${part({ alg: "none" })}.${payload}.`,
		`${header}.${payload}.AAAA`,
		`${part({ alg: "ES256", crit: ["b64"], b64: false })}.${part('{"iss":1,"aud":[[]],"exp":1e999}')}.${signature}`,
	],
	tokens: [".", "=", "-", "_", header, payload, signature, part({ alg: "ES256" }), part({}), part('{"a":1,"a":2}')],
	parse: (input) => accepted(JwtRefusal, () => readJwt(input.toString("latin1"))),
	async check(input) {
		const text = input.toString("latin1");
		const read = accepted(JwtRefusal, () => readJwt(text));
		if (read === undefined) return;
		const parts = text.split(".");
		assert.equal(parts.map((one) => Buffer.from(one, "base64url").toString("base64url")).join("."), text);
		assert.deepEqual(read.claims, JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString()));
		try {
			await verifySignature(read, findKey(keys, read));
			checkClaims(read, trust, NOW_S);
		} catch (error) {
			if (error instanceof JwtRefusal) return;
			throw error;
		}
		assert.deepEqual(jwtDigest(read, ISSUER), jwtDigest(readJwt(good), ISSUER));
		assert.deepEqual(read.claims, claims);
	},
};

const DOCUMENT = { a: { b: { "c/d": 1, "~": 2 }, list: [{ x: 3 }] }, "a.b": 4, "": { "": 5 }, "/a": 6 };

/** Finds every value that a pointer may reach, with the pointer that leads there. */
function* leaves(value: unknown, path: string): Generator<[string, unknown]> {
	yield [path, value];
	if (typeof value !== "object" || value === null || Array.isArray(value)) return;
	for (const [name, inner] of Object.entries(value)) {
		yield* leaves(inner, `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
	}
}

const reachable = new Map([...leaves(DOCUMENT, "")]);

/** A path finds the claim of its name, or what exactly one pointer leads to, and nothing inherited. */
export const pointer: Target = {
	sources: ["packages/server/src/trusts/claim-paths.ts"],
	max_bytes: 16 * 1024,
	seeds: ["/a/b/c~1d", "/a/b/~0", "a.b", "/", "//", "/a/list/0/x", "/constructor", "__proto__"],
	tokens: ["/", "~0", "~1", "~", "a", "b", ".", "list", "0", "__proto__", "constructor", "toString"],
	parse: (input) => valueAt(DOCUMENT, input.toString()),
	check(input) {
		const path = input.toString();
		if (!isClaimPath(path)) return;
		const found = valueAt(DOCUMENT, path);
		const right = path.startsWith("/")
			? reachable.get(path)
			: Object.entries(DOCUMENT).find(([name]) => name === path)?.[1];
		assert.equal(found, right);
	},
};
