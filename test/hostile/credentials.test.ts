import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { apiToken, ending, login, type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

type Claims = Record<string, unknown>;

let server: Server;
let client: Api;
let root: Person;
let alice: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	alice = await person(client, "alice");
});
after(() => server.close());

function ask(token: string): Promise<Answer> {
	return client.get("/realms", { token });
}

/** Fails unless a wrong token gets the same answer as all others. */
async function assertWrong(token: string, what: string): Promise<void> {
	const [answer, wrong] = [await ask(token), await ask("wrong")];
	refused(answer, 401, "unauthorized");
	assert.doesNotThrow(() => sameRefusal(answer, wrong), what);
}

function encode(part: object | string): string {
	return Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
}

function parts(token: string): { header: Claims; claims: Claims; signature: string } {
	const [header = "", claims = "", signature = ""] = token.split(".");
	const decode = (text: string): Claims => JSON.parse(Buffer.from(text, "base64url").toString());
	return { header: decode(header), claims: decode(claims), signature };
}

function sign(header: object, claims: object, key: string | Buffer, hash = "sha256"): string {
	const text = `${encode(header)}.${encode(claims)}`;
	return `${text}.${createHmac(hash, key).update(text).digest("base64url")}`;
}

test("no Authorization header that is not a bearer token opens anything", async () => {
	const bare = await client.get("/realms");
	refused(bare, 401, "unauthorized");
	const { token } = alice;
	const basic = Buffer.from(`${alice.email}:${alice.password}`).toString("base64");
	for (const authorization of [
		...["", "Bearer", "Bearer ", token, `Basic ${basic}`, `Token ${token}`, `Bearer: ${token}`, `Bearer=${token}`],
		...[`Bearer,${token}`, `Bearer "${token}"`, `Bearer ${token} ${token}`, `Bearer ${token},Bearer ${token}`],
		...[`Bearer wrong, Bearer ${token}`, `Digest Bearer ${token}`, `Bearer ${token}\u00a0`],
	]) {
		const answer = await client.get("/realms", { headers: { authorization } });
		refused(answer, 401, "unauthorized");
		assert.equal(answer.text, bare.text, authorization.slice(0, 10));
	}
});

test("a token anywhere but in the Authorization header opens nothing", async () => {
	const { token } = alice;
	refused(await client.get(`/realms?access_token=${token}&token=${token}`), 401, "unauthorized");
	const headers = {
		cookie: `token=${token}`,
		"x-api-key": token,
		"x-vault-token": token,
		"proxy-authorization": `Bearer ${token}`,
	};
	refused(await client.get("/realms", { headers }), 401, "unauthorized");
});

for (const scheme of ["Bearer", "bearer", "BEARER"]) {
	test(`the scheme may be written ${scheme}`, async () => {
		ok(await client.get("/realms", { headers: { authorization: `${scheme} ${alice.token}` } }));
	});
}

test("a changed, cut, lengthened or made-up API token is wrong like any other", async () => {
	const { token } = await apiToken(client, alice, "read");
	const swap = (at: number): string => `${token.slice(0, at)}${token[at] === "a" ? "b" : "a"}${token.slice(at + 1)}`;
	const wrong = [
		...[4, 10, 43, 44, 49].map(swap),
		...[
			token.slice(0, -1),
			`${token}a`,
			token.slice(4),
			`svc_${token}`,
			token.toUpperCase(),
			token.replace("svc_", "SVC_"),
		],
		...["svc_", `svc_${"0".repeat(46)}`, token.slice(0, 12), `${token}\u00e9`],
	];
	for (const one of wrong.filter((text) => text !== token)) await assertWrong(one, "a made-up API token");
	ok(await ask(token));
});

test("revoked and expired tokens and ended sessions are wrong like any other", async () => {
	const { id, token } = await apiToken(client, alice, "read");
	const session = await login(client, alice);
	ok(await client.delete(`/auth/tokens/${id}`, { token: alice.token }));
	ok(await client.post("/auth/logout", undefined, { token: session }));
	await assertWrong(token, "a revoked token");
	await assertWrong(session, "an ended session");
	const [{ token: short }, end_ms] = await ending((expires_at) =>
		client.post<{ token: string }>("/auth/tokens", { name: "t", expires_at }, { token: alice.token }),
	);
	while ((await ask(short)).status === 200) assert.ok(Date.now() < end_ms + 60_000);
	await assertWrong(short, "an expired token");
});

test("a session whose claims or header were changed is wrong", async () => {
	const { header, claims, signature } = parts(alice.token);
	const other = parts(root.token);
	const changedClaims: Claims[] = [
		...[
			{ ...claims, sub: root.id },
			{ ...claims, jti: other.claims.jti },
			{ ...claims, exp: Number(claims.exp) + 1 },
		],
		...[{ ...claims, admin: true }, other.claims, {}],
	];
	for (const changed of changedClaims) await assertWrong(`${encode(header)}.${encode(changed)}.${signature}`, "claims");
	for (const changed of [{ ...header, alg: "none" }, { ...header, kid: "other" }, { alg: "HS512" }, {}]) {
		await assertWrong(`${encode(changed)}.${encode(claims)}.${signature}`, "header");
	}
	const [head, body] = alice.token.split(".");
	const turned = [...signature].reverse().join("");
	for (const changed of ["", "A", signature.slice(1), turned, other.signature]) {
		await assertWrong(`${head}.${body}.${changed}`, "signature");
	}
});

for (const alg of ["none", "None", "NONE", "", "nOnE", null]) {
	test(`a session that says its algorithm is ${JSON.stringify(alg)} is wrong, signed or not`, async () => {
		const { header, claims, signature } = parts(alice.token);
		const unsigned = `${encode({ ...header, alg })}.${encode(claims)}`;
		for (const token of [`${unsigned}.`, unsigned, `${unsigned}.${signature}`])
			await assertWrong(token, "no algorithm");
	});
}

test("a session that is signed with any other key is wrong, whatever it claims", async () => {
	const { header, claims } = parts(alice.token);
	const keys = [randomBytes(32), "", "secret", server.ca, Buffer.alloc(32), String(header.kid), claims.jti as string];
	for (const key of keys) await assertWrong(sign(header, claims, key), "another key");
	const now = Math.floor(Date.now() / 1_000);
	const { exp: _, ...withoutExp } = claims;
	for (const claim of [
		withoutExp,
		{ ...claims, exp: "never" },
		{ ...claims, exp: now - 1 },
		{ ...claims, iat: now + 9_999 },
	]) {
		await assertWrong(sign(header, claim, randomBytes(32)), "other claims");
	}
	await assertWrong(sign({ ...header, alg: "HS512" }, claims, randomBytes(64), "sha512"), "another algorithm");
	for (const trick of [
		{ jwk: { kty: "oct", k: "AAAA" } },
		{ jku: server.url },
		{ crit: ["exp"] },
		{ b64: false },
		{ zip: "DEF" },
	]) {
		await assertWrong(sign({ ...header, ...trick }, claims, "\0\0\0"), "a header with a key");
	}
});

test("what only resembles a JWT is wrong", async () => {
	const [header, claims, signature] = alice.token.split(".");
	for (const token of [
		...[`${alice.token}.`, `.${alice.token}`, `${alice.token}.${signature}`, `${header}.${claims}`, "..", ".", "a.b.c"],
		...[`${header}..${signature}`, `${header}.${claims}.${signature}=`, `${header}.${claims}=.${signature}`],
		...[`${header}!.${claims}.${signature}`, alice.token.toLowerCase(), [...alice.token].reverse().join("")],
		...[
			`${encode("null")}.${encode("null")}.AAAA`,
			`${encode("[]")}.${encode("[]")}.AAAA`,
			`${encode("{")}.${encode("{")}.AAAA`,
		],
		`${header}.${"A".repeat(4_000)}.${signature}`,
	]) {
		await assertWrong(token, token.slice(0, 20));
	}
	ok(await ask(alice.token));
});

test("the header of a request that was refused opens nothing later on the same connection", async () => {
	ok(await ask(alice.token));
	refused(await client.get("/realms"), 401, "unauthorized");
	refused(await ask("wrong"), 401, "unauthorized");
});

test("a public endpoint takes no notice of a wrong token", async () => {
	ok(await client.get("/auth/providers", { token: "wrong" }));
	ok(await client.get("/health", { headers: { authorization: "nonsense" } }));
});
