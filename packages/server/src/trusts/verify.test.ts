import assert from "node:assert/strict";
import { test } from "node:test";
import { forgedJwts, PUBLISHED_KEYS, RIGHT_KEYS } from "../../../../test/peers/forged-jwts.ts";
import { githubClaims, gitlabClaims, type Json, signJwt } from "../../../../test/peers/issuer.ts";
import { findKey, keysFor, readKeys } from "./jwks.ts";
import { readJwt } from "./jwt.ts";
import { JwtRefusal } from "./refusal.ts";
import { checkClaims, type Expectation, isFrom, jwtDigest, verifySignature } from "./verify.ts";

const NOW_S = 1_800_000_000;
const GITHUB = "https://token.actions.githubusercontent.com";
const GITLAB = "https://gitlab.example.com";
const CLUSTER = "https://kubernetes.default.svc";
const AUDIENCE = "https://svc.example.com";

const { rsa, es } = RIGHT_KEYS;
const KEYS = readKeys(PUBLISHED_KEYS);

const GITHUB_TRUST: Expectation = {
	issuer: GITHUB,
	trust_domain: undefined,
	takes_access_tokens: false,
	audience: AUDIENCE,
	claims: {
		repository_id: "2002",
		repository_owner_id: "1001",
		ref: "refs/heads/main",
		event_name: "push",
	},
};
const GITLAB_TRUST: Expectation = {
	...GITHUB_TRUST,
	issuer: GITLAB,
	claims: { project_id: "22", ref_path: "refs/heads/main", ref_protected: "true" },
};
const CLUSTER_TRUST: Expectation = {
	...GITHUB_TRUST,
	issuer: CLUSTER,
	claims: { "/kubernetes.io/serviceaccount/uid": "uid-1", "/kubernetes.io/namespace": "shop" },
};
const SPIFFE_TRUST: Expectation = {
	...GITHUB_TRUST,
	issuer: undefined,
	trust_domain: "example.org",
	claims: { sub: "spiffe://example.org/deploy" },
};

const github = (over: Json = {}): Json => ({ ...githubClaims(GITHUB, AUDIENCE, NOW_S), ...over });
const gitlab = (over: Json = {}): Json => ({ ...gitlabClaims(GITLAB, AUDIENCE, NOW_S), ...over });
const cluster = (over: Json = {}, account: Json = {}): Json => ({
	iss: CLUSTER,
	aud: [AUDIENCE],
	sub: "system:serviceaccount:shop:deploy",
	iat: NOW_S,
	nbf: NOW_S,
	exp: NOW_S + 3600,
	jti: "a",
	"kubernetes.io": { namespace: "shop", serviceaccount: { name: "deploy", uid: "uid-1", ...account } },
	...over,
});

/** Verifies as a sign-in does, with the marks of one-time use in memory. @returns `accepted`, or the reason and place of the refusal */
async function outcomeOf(token: string, trusts: Expectation[], used = new Set<string>()): Promise<string> {
	try {
		const jwt = readJwt(token);
		const trust = trusts.find((one) => isFrom(jwt, one));
		if (trust === undefined) throw new JwtRefusal("issuer");
		await verifySignature(jwt, findKey(KEYS, jwt));
		checkClaims(jwt, trust, NOW_S);
		const digest = jwtDigest(jwt, trust.issuer ?? `spiffe://${trust.trust_domain}`).toString("hex");
		if (used.has(digest)) throw new JwtRefusal("replay");
		used.add(digest);
		return "accepted";
	} catch (error) {
		if (!(error instanceof JwtRefusal)) throw error;
		return error.place === undefined ? error.reason : `${error.reason} ${error.place}`;
	}
}

test("the key of a JWT is chosen by its description, before any key is imported", () => {
	const ours = { kty: "EC", crv: "P-521", kid: "ours", x: "", y: "" };
	const jwks = [ours, { ...ours, kid: "other" }, { ...ours, crv: "P-256" }, { ...ours, alg: "ES256" }];
	assert.deepEqual(keysFor(jwks, { alg: "ES512", kid: "ours" }), [ours]);
	assert.equal(keysFor(jwks, { alg: "ES512", kid: undefined }).length, 2);
	assert.deepEqual(keysFor(jwks, { alg: "RS256", kid: "ours" }), []);
});

/** Rows of the table of attacks that belong to a trust of their own. */
type Row = [row: number, what: string, token: string, answer: string, trusts: Expectation[]];

const YEAR_S = 365 * 24 * 3600;

const ROWS: Row[] = [
	[0, "GitHub's own", signJwt(rsa, github()), "accepted", [GITHUB_TRUST]],
	[0, "GitLab's own", signJwt(rsa, gitlab()), "accepted", [GITLAB_TRUST]],
	[0, "the cluster's own", signJwt(rsa, cluster(), { typ: undefined }), "accepted", [CLUSTER_TRUST]],
	[42, "access token", signJwt(rsa, github(), { typ: "at+jwt" }), "header typ", [GITHUB_TRUST]],
	[
		49,
		"recreated account",
		signJwt(rsa, cluster({}, { uid: "uid-2" })),
		"claim /kubernetes.io/serviceaccount/uid",
		[CLUSTER_TRUST],
	],
	[49, "API server's audience", signJwt(rsa, cluster({ aud: [CLUSTER] })), "audience aud", [CLUSTER_TRUST]],
	[49, "two audiences", signJwt(rsa, cluster({ aud: [AUDIENCE, CLUSTER] })), "audience aud", [CLUSTER_TRUST]],
	[49, "one year", signJwt(rsa, cluster({ exp: NOW_S + YEAR_S })), "times exp", [CLUSTER_TRUST]],
	[
		50,
		"dotted names",
		signJwt(rsa, cluster({ "kubernetes.io": undefined, kubernetes: { io: cluster()["kubernetes.io"] } })),
		"claim /kubernetes.io/serviceaccount/uid",
		[CLUSTER_TRUST],
	],
	[51, "fork's project", signJwt(rsa, gitlab({ project_id: "33" })), "claim project_id", [GITLAB_TRUST]],
	[51, "unprotected ref", signJwt(rsa, gitlab({ ref_protected: "false" })), "claim ref_protected", [GITLAB_TRUST]],
	[51, "ref_protected a boolean", signJwt(rsa, gitlab({ ref_protected: true })), "claim ref_protected", [GITLAB_TRUST]],
	[
		52,
		"issuer of the other trust",
		signJwt(rsa, github({ iss: GITLAB })),
		"claim project_id",
		[GITHUB_TRUST, GITLAB_TRUST],
	],
	[
		0,
		"SPIFFE without iss and iat",
		signJwt(rsa, { sub: "spiffe://example.org/deploy", aud: [AUDIENCE], exp: NOW_S + 300 }),
		"accepted",
		[SPIFFE_TRUST],
	],
	[
		0,
		"SPIFFE of another domain",
		signJwt(rsa, { sub: "spiffe://example.org.evil/deploy", aud: AUDIENCE, exp: NOW_S + 300 }),
		"issuer",
		[SPIFFE_TRUST],
	],
	[
		0,
		"SPIFFE of another workload",
		signJwt(rsa, { sub: "spiffe://example.org/deploy2", aud: AUDIENCE, exp: NOW_S + 300 }),
		"claim sub",
		[SPIFFE_TRUST],
	],
	[
		0,
		"SPIFFE for two days",
		signJwt(rsa, { sub: "spiffe://example.org/deploy", aud: AUDIENCE, exp: NOW_S + 172_800 }),
		"times exp",
		[SPIFFE_TRUST],
	],
	[
		0,
		"access token for oidc",
		signJwt(rsa, github(), { typ: "AT+JWT" }),
		"accepted",
		[{ ...GITHUB_TRUST, takes_access_tokens: true }],
	],
];

const attacks = forgedJwts({ issuer: GITHUB, audience: AUDIENCE, now_s: NOW_S }).map(
	({ row, what, token, answer }): Row => [row, what, token, answer, [GITHUB_TRUST]],
);
for (const [row, what, token, answer, trusts] of [...ROWS, ...attacks]) {
	test(`row ${row}: ${what}: ${answer}`, async () => {
		assert.equal(await outcomeOf(token, trusts), answer);
	});
}

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The other valid signature that anybody can make from one of ES256: s becomes n − s. */
function twin(token: string): string {
	const at = token.lastIndexOf(".") + 1;
	const bytes = Buffer.from(token.slice(at), "base64url");
	const s = ORDER - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
	const hex = s.toString(16).padStart(64, "0");
	return token.slice(0, at) + Buffer.concat([bytes.subarray(0, 32), Buffer.from(hex, "hex")]).toString("base64url");
}

/** The signature's last character with its unused bits changed. */
function spelled(token: string): string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1) ?? "") ^ 1];
}

for (const [row, claims] of [
	[1, github()],
	[5, { ...github(), jti: undefined }],
] as const) {
	test(`rows ${row} to 4: a JWT ${row === 5 ? "without" : "with"} an id has no second spelling`, async () => {
		const first = signJwt(es, claims);
		const used = new Set<string>();
		assert.equal(await outcomeOf(first, [GITHUB_TRUST], used), "accepted");
		assert.equal(await outcomeOf(first, [GITHUB_TRUST], used), "replay");
		assert.equal(await outcomeOf(twin(first), [GITHUB_TRUST]), "accepted", "the twin is a valid signature");
		assert.equal(await outcomeOf(twin(first), [GITHUB_TRUST], used), "replay");
		const dot = first.lastIndexOf(".") + 5;
		for (const again of [spelled(first), `${first}==`, `${first}\n`, `${first.slice(0, dot)} ${first.slice(dot)}`]) {
			assert.equal(await outcomeOf(again, [GITHUB_TRUST], used), "malformed");
		}
		assert.equal(await outcomeOf(signJwt(es, { ...claims, jti: "other" }), [GITHUB_TRUST], used), "accepted");
	});
}

test("a refusal holds nothing of the JWT", async () => {
	const jwt = readJwt(signJwt(rsa, github({ repository_id: "canary" })));
	assert.throws(
		() => checkClaims(jwt, GITHUB_TRUST, NOW_S),
		(error: JwtRefusal) => !`${error.message} ${error.stack}`.includes("canary") && error.cause === undefined,
	);
});
