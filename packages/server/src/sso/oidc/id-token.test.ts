import assert from "node:assert/strict";
import { createHmac, createPublicKey } from "node:crypto";
import { after, before, test } from "node:test";
import {
	type FakeProvider,
	type Json,
	type Lie,
	newSigningKey,
	signWith,
	startFakeProvider,
} from "../../../../../test/peers/oidc-fake.ts";
import type { RefusalReason } from "../model.ts";
import { createOidc } from "./oidc.ts";
import { logIn, newFlow, settingsOf, visit } from "./testing.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let peer: FakeProvider;
const oidc = createOidc();
before(async () => {
	peer = await startFakeProvider();
	ends.defer(peer.stop);
});

async function isRefused(lie: Lie, reason: RefusalReason): Promise<void> {
	peer.lie = lie;
	const refusal = await logIn(oidc, settingsOf(peer)).catch((error) => error);
	peer.lie = {};
	const { name, message, reason: given, cause } = refusal;
	assert.deepEqual(
		{ name, message, given, cause },
		{ name: "SsoRefusal", message: reason, given: reason, cause: undefined },
	);
}

const claims = (more: Json): Lie => ({ claims: (truth) => ({ ...truth, ...more }) });
const now_s = Math.floor(Date.now() / 1000);

test("the fake's true id_token is taken", async () => {
	const { subject, email } = await logIn(oidc, settingsOf(peer));
	assert.deepEqual({ subject, email }, { subject: "mallory", email: "mallory@example.com" });
});

const WRONG_CLAIMS: [name: string, wrong: Json, reason: RefusalReason][] = [
	["for somebody else", { aud: "other" }, "audience"],
	["for several others", { aud: ["other", "another"], azp: "svc" }, "audience"],
	["for us and another, without azp", { aud: ["svc", "other"] }, "audience"],
	["for us and another, who asked for it", { aud: ["svc", "other"], azp: "other" }, "audience"],
	["for us, but another asked for it", { azp: "other" }, "audience"],
	["for nobody", { aud: undefined }, "audience"],
	["of another issuer", { iss: "https://other.example" }, "issuer"],
	["of nobody", { iss: undefined }, "issuer"],
	["of another login", { nonce: "other" }, "nonce"],
	["of no login", { nonce: undefined }, "nonce"],
	["that has expired", { exp: now_s - 60 }, "expired"],
	["that never expires", { exp: undefined }, "expired"],
	["that expires at a text", { exp: "9999999999" }, "malformed"],
	["that is not valid yet", { nbf: now_s + 3600 }, "expired"],
	["of an unknown time", { iat: undefined }, "malformed"],
	["of nobody in particular", { sub: undefined }, "subject"],
	["of an empty subject", { sub: "" }, "subject"],
	["of an endless subject", { sub: "x".repeat(256) }, "subject"],
	["of a subject that is no text", { sub: 7 }, "malformed"],
	["for another access token", { at_hash: "AAAAAAAAAAAAAAAAAAAAAA" }, "malformed"],
	["for an access token that is no text", { at_hash: 7 }, "malformed"],
];

for (const [name, wrong, reason] of WRONG_CLAIMS) {
	test(`an id_token ${name} is refused`, () => isRefused(claims(wrong), reason));
}

const header = (more: Json) => (truth: Json) => ({ ...truth, ...more });
const hs256 = (secret: string | Buffer): Lie => ({
	header: header({ alg: "HS256" }),
	sign: (signed) => createHmac("sha256", secret).update(signed).digest(),
});

test("an id_token without a signature is refused", async () => {
	await isRefused({ header: header({ alg: "none" }), sign: () => Buffer.alloc(0) }, "algorithm");
	await isRefused({ header: header({ alg: "None" }), sign: () => Buffer.alloc(0) }, "algorithm");
	await isRefused({ sign: () => Buffer.alloc(0) }, "signature");
	await isRefused({ header: header({ alg: undefined }) }, "algorithm");
});

test("an id_token that is signed with something that others know is refused", async () => {
	await isRefused(hs256(peer.client_secret), "algorithm");
	const published: Json = {};
	peer.lie = {
		keys: (truth) => {
			Object.assign(published, truth[0]);
			return truth;
		},
	};
	await logIn(createOidc(), settingsOf(peer));
	const pem = createPublicKey({ key: published as never, format: "jwk" }).export({ type: "spki", format: "pem" });
	await isRefused(hs256(pem), "algorithm");
});

test("an id_token that another key has signed is refused, also when it brings the key along", async () => {
	const { key, jwk } = newSigningKey("first");
	const sign = signWith(key);
	await isRefused({ sign }, "signature");
	await isRefused({ sign, header: header({ kid: "second" }) }, "signature");
	await isRefused({ sign, header: header({ jwk }) }, "signature");
	await isRefused({ sign, header: header({ jku: `${peer.issuer}/elsewhere`, kid: "second" }) }, "signature");
	assert.ok(!peer.asked.includes("elsewhere"));
});

test("an id_token with a header that must be understood, or for another algorithm than its key's, is refused", async () => {
	await isRefused({ header: header({ crit: ["exp"] }) }, "algorithm");
	await isRefused({ header: header({ alg: "RS256" }) }, "signature");
});

test("an answer without an id_token, or with a broken one, is refused", async () => {
	const token = (id_token: unknown): Lie => ({ token: (truth) => ({ ...truth, id_token }) });
	for (const broken of [undefined, "", 7, "a.b.c", "e30", ".."]) await isRefused(token(broken), "malformed");
	await isRefused(token("e30.e30."), "algorithm");
	await isRefused({ token: ({ id_token }) => ({ id_token, token_type: "Bearer" }) }, "malformed");
	await isRefused({ token: (truth) => [truth] }, "malformed");
	await isRefused({ token: (truth) => ({ ...truth, id_token: `${truth.id_token}!` }) }, "malformed");
});

test("userinfo of somebody else is refused", async () => {
	const userinfo = (wrong: Json): Lie => ({
		claims: (truth) => ({ ...truth, email: undefined }),
		userinfo: () => wrong,
	});
	await isRefused(userinfo({ sub: "alice", email: "alice@example.com" }), "subject");
	await isRefused(userinfo({ email: "alice@example.com" }), "malformed");
});

test("whether an address is verified is read from where the address is", async () => {
	peer.lie = {
		claims: (truth) => ({ ...truth, name: undefined, email: "alice@example.com" }),
		userinfo: (truth) => ({ ...truth, email_verified: true, name: "Mallory" }),
	};
	const { email, email_verified, name } = await logIn(oidc, settingsOf(peer));
	peer.lie = {};
	assert.deepEqual(
		{ email, email_verified, name },
		{ email: "alice@example.com", email_verified: false, name: "Mallory" },
	);
});

test("nothing but true makes an address verified", async () => {
	for (const email_verified of ["true", 1, "yes", [true], {}, null, undefined]) {
		peer.lie = claims({ email_verified });
		assert.equal((await logIn(oidc, settingsOf(peer))).email_verified, false);
	}
	peer.lie = claims({ email_verified: true });
	assert.equal((await logIn(oidc, settingsOf(peer))).email_verified, true);
	peer.lie = {};
});

test("a callback that names another issuer, or none where it should, is refused before the code is sent", async () => {
	const flow = newFlow();
	const { iss: _, ...query } = await visit(oidc, settingsOf(peer), flow);
	const before = peer.asked.length;
	for (const wrong of [query, { ...query, iss: "https://other.example" }, { ...query, iss: `${peer.issuer}/` }]) {
		await assert.rejects(oidc.identify("1", settingsOf(peer), flow, wrong, "192.0.2.1"), { reason: "issuer" });
	}
	assert.equal(peer.asked.length, before);
});
