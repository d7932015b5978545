import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import type { MacKey } from "./key-set.ts";
import { createSessionTokens } from "./session.ts";

const NOW = 1_800_000_000;
const CLAIMS = { sub: "user", jti: "session", iat: NOW, exp: NOW + 86_400 };
const KEY: MacKey = { id: "0102030405060708", bytes: Buffer.alloc(32, 1), retired_at: undefined };
const RETIRED: MacKey = { id: "1112131415161718", bytes: Buffer.alloc(32, 2), retired_at: new Date(NOW * 1000) };

const keySet = (active: MacKey, ...others: MacKey[]) => ({
	active,
	byId: new Map([active, ...others].map((key) => [key.id, key])),
});

/** Makes tokens with a clock that a test may turn. */
function tokensAt(seconds: number, keys = keySet(KEY, RETIRED)) {
	const clock = { seconds };
	const tokens = createSessionTokens(() => keys, { now: () => new Date(clock.seconds * 1000) });
	return { ...tokens, clock };
}

const HEADER = { alg: "HS256", typ: "svc-session+jwt", kid: KEY.id };
const encode = (part: unknown) =>
	Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

/** Makes any JWT, signed by hand. */
function forge(header: unknown, claims: unknown, bytes = KEY.bytes, digest = "sha256"): string {
	const body = `${encode(header)}.${encode(claims)}`;
	return `${body}.${createHmac(digest, bytes).update(body).digest("base64url")}`;
}

test("a signed token says who and which session, until it expires", async () => {
	const { sign, verify, clock } = tokensAt(NOW);
	const token = await sign(CLAIMS);
	const claims = { sub: "user", jti: "session", exp: CLAIMS.exp };
	assert.deepEqual(await verify(token), claims);
	clock.seconds = CLAIMS.exp - 1;
	assert.deepEqual(await verify(token), claims);
	clock.seconds = CLAIMS.exp;
	assert.equal(await verify(token), undefined, "remembered, yet expired");
	assert.equal(await tokensAt(CLAIMS.exp).verify(token), undefined, "seen for the first time");
});

test("a token made by hand in the form of ours is accepted, so the refusals below are for their reasons", async () => {
	assert.ok(await tokensAt(NOW).verify(forge(HEADER, CLAIMS)));
});

const without = (claim: keyof typeof CLAIMS) =>
	Object.fromEntries(Object.entries(CLAIMS).filter(([name]) => name !== claim));
const HOSTILE: Record<string, string> = {
	"no algorithm": `${encode({ ...HEADER, alg: "none" })}.${encode(CLAIMS)}.`,
	"no signature": `${encode(HEADER)}.${encode(CLAIMS)}.`,
	"another key": forge(HEADER, CLAIMS, Buffer.alloc(32, 9)),
	"an empty key": forge(HEADER, CLAIMS, Buffer.alloc(0)),
	"another kid": forge({ ...HEADER, kid: RETIRED.id }, CLAIMS),
	"an unknown kid": forge({ ...HEADER, kid: "ff" }, CLAIMS),
	"a kid of an object's own names": forge({ ...HEADER, kid: "__proto__" }, CLAIMS),
	"a kid that is no text": forge({ ...HEADER, kid: [KEY.id] }, CLAIMS),
	"no kid": forge({ alg: "HS256", typ: HEADER.typ }, CLAIMS),
	"HS512 with the right key": forge({ ...HEADER, alg: "HS512" }, CLAIMS, KEY.bytes, "sha512"),
	"an algorithm in lower case": forge({ ...HEADER, alg: "hs256" }, CLAIMS),
	"the plain type": forge({ ...HEADER, typ: "JWT" }, CLAIMS),
	"no type": forge({ alg: "HS256", kid: KEY.id }, CLAIMS),
	"an unknown critical header": forge({ ...HEADER, crit: ["x"], x: 1 }, CLAIMS),
	"an unencoded payload": forge({ ...HEADER, crit: ["b64"], b64: false }, CLAIMS),
	"no exp": forge(HEADER, without("exp")),
	"no iat": forge(HEADER, without("iat")),
	"no sub": forge(HEADER, without("sub")),
	"no jti": forge(HEADER, without("jti")),
	"exp as text": forge(HEADER, { ...CLAIMS, exp: String(CLAIMS.exp) }),
	"exp as null": forge(HEADER, { ...CLAIMS, exp: null }),
	"exp beyond numbers": forge(HEADER, JSON.stringify(CLAIMS).replace(String(CLAIMS.exp), "1e999")),
	"exp in the past": forge(HEADER, { ...CLAIMS, exp: NOW }),
	"iat in the future": forge(HEADER, { ...CLAIMS, iat: NOW + 60 }),
	"iat more than a day ago": forge(HEADER, { ...CLAIMS, iat: NOW - 86_406 }),
	"nbf in the future": forge(HEADER, { ...CLAIMS, nbf: NOW + 60 }),
	"sub as a number": forge(HEADER, { ...CLAIMS, sub: 1 }),
	"jti as a list": forge(HEADER, { ...CLAIMS, jti: ["session"] }),
	"claims that are a list": forge(HEADER, [CLAIMS]),
	"claims that are no JSON": forge(HEADER, "{"),
	"a header that is no JSON": forge("{", CLAIMS),
	"five parts": `${forge(HEADER, CLAIMS)}.${encode("x")}.${encode("y")}`,
	"one part": "token",
	nothing: "",
	"a megabyte": forge(HEADER, { ...CLAIMS, more: "x".repeat(1_000_000) }),
	"five kilobytes": forge(HEADER, { ...CLAIMS, more: "x".repeat(5_000) }),
};
for (const [what, token] of Object.entries(HOSTILE)) {
	test(`a token with ${what} is refused`, async () => {
		const { verify } = tokensAt(NOW);
		assert.equal(await verify(token), undefined);
		assert.equal(await verify(token), undefined, "nor is it remembered as good");
	});
}

test("a token with any one character changed is refused", async () => {
	const { sign, verify } = tokensAt(NOW);
	const token = await sign(CLAIMS);
	for (let at = 0; at < token.length; at++) {
		const changed = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
		assert.equal(await verify(changed), undefined, `character ${at}`);
	}
});

test("a retired key vouches for what it signed until its successor took over, and for nothing later", async () => {
	const { verify } = tokensAt(NOW + 60);
	const header = { ...HEADER, kid: RETIRED.id };
	assert.ok(await verify(forge(header, { ...CLAIMS, iat: NOW - 1 }, RETIRED.bytes)));
	assert.ok(await verify(forge(header, { ...CLAIMS, iat: NOW + 9 }, RETIRED.bytes)), "while that was being stored");
	assert.equal(await verify(forge(header, { ...CLAIMS, iat: NOW + 11 }, RETIRED.bytes)), undefined);
});
