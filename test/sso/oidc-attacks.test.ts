import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Answer } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD } from "../harness/fixtures.ts";
import type { User } from "../harness/resources.ts";
import {
	type FakeProvider,
	type Json,
	type Lie,
	newSigningKey,
	signWith,
	startFakeProvider,
} from "../peers/oidc-fake.ts";
import { type OidcWorld, startOidcWorld } from "./oidc-world.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: OidcWorld;
let liar: FakeProvider;

before(async () => {
	const started = await startOidcWorld();
	ends.defer(started.close);
	world = started;
	liar = await startFakeProvider();
	ends.defer(liar.stop);
	await world.set("liar", liar);
});
beforeEach(() => {
	liar.lie = {};
});

const claims = (more: Json): Lie => ({ claims: (truth) => ({ ...truth, ...more }) });
const header = (more: Json) => (truth: Json) => ({ ...truth, ...more });
const now_s = Math.floor(Date.now() / 1000);

const LIES: [name: string, lie: Lie, reason: string][] = [
	["alg none", { header: header({ alg: "none" }), sign: () => Buffer.alloc(0) }, "algorithm"],
	[
		"HS256",
		{ header: header({ alg: "HS256" }), sign: (text) => createHmac("sha256", "svc").update(text).digest() },
		"algorithm",
	],
	["another key", { sign: signWith(newSigningKey("first").key) }, "signature"],
	["wrong aud", claims({ aud: "other" }), "audience"],
	["wrong azp", claims({ aud: ["svc", "other"], azp: "other" }), "audience"],
	["wrong iss", claims({ iss: "https://other.example" }), "issuer"],
	["wrong nonce", claims({ nonce: "canary-nonce" }), "nonce"],
	["no exp", claims({ exp: undefined }), "expired"],
	["exp past", claims({ exp: now_s - 60 }), "expired"],
	["no sub", claims({ sub: undefined }), "subject"],
	["wrong at_hash", claims({ at_hash: "canary" }), "malformed"],
	["no id_token", { token: ({ access_token }) => ({ access_token, token_type: "Bearer" }) }, "malformed"],
	["mix-up: iss of another", { callback: (truth) => ({ ...truth, iss: "https://canary.example" }) }, "issuer"],
	["mix-up: iss missing", { callback: ({ code = "", state = "" }) => ({ code, state }) }, "issuer"],
	["code missing", { callback: ({ state = "", iss = "" }) => ({ state, iss }) }, "malformed"],
];

for (const [name, lie, reason] of LIES) {
	test(`${name}: 401, one event with the reason, and nothing of it is shown`, async () => {
		liar.lie = lie;
		await world.refusals();
		const answer = await world.signIn("liar");
		refused(answer, 401, "unauthorized");
		assert.doesNotMatch(answer.text, /canary|mallory|other/);
		const refusals = await world.refusals();
		assert.deepEqual(
			refusals.map(({ data }) => [data.method, data.provider, data.reason]),
			[["oidc", "liar", reason]],
		);
		assert.doesNotMatch(JSON.stringify(refusals), /canary|mallory/);
		assert.doesNotMatch(world.server.stdout() + world.server.stderr(), /canary|mallory/);
	});
}

test("a provider that is silent, endless or points elsewhere: 503 in time, while others are served", async () => {
	await world.refusals();
	for (const [name, lie] of [
		["silent", { faults: { keys: { does: "drip" } } }],
		["endless", { faults: { keys: { does: "flood" } } }],
		["redirecting", { faults: { keys: { does: "answer", status: 302, location: "https://169.254.169.254/" } } }],
	] as [string, Lie][]) {
		await world.set(name, liar);
		liar.lie = lie;
		const begun = await world.begin(name);
		const query = await world.visit(name, begun);
		let [isOver, healthy] = [false, 0];
		const answer = world.finish(name, query, begun.cookie).finally(() => (isOver = true));
		const started = performance.now();
		// The server gives a silent one up after five seconds.
		do {
			const asked = performance.now();
			ok(await world.client.get("/health"));
			assert.ok(performance.now() - asked < 2000, "health is answered meanwhile");
			healthy += Number(!isOver);
			await setTimeout(100);
		} while (!isOver);
		refused(await answer, 503, "provider_unavailable");
		assert.ok(performance.now() - started < 10_000);
		if (name === "silent") assert.ok(healthy > 5, `health was answered ${healthy} times meanwhile`);
		liar.lie = {};
		refused(await world.finish(name, query, begun.cookie), 401, "unauthorized");
	}
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, Array(3).fill(["unavailable", "replay"]).flat());
});

/** Signs in somebody who has another person's e-mail address. */
async function taken(name: string): Promise<Answer> {
	await world.refusals();
	const answer = await world.signIn(name);
	refused(answer, 409, "conflict");
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, ["email_taken"]);
	return answer;
}

test("an e-mail of somebody else opens nobody's account", async () => {
	const { email } = ok(
		await world.client.post<User>("/auth/register", { email: "ada@corp.test", password: PASSWORD, name: "Ada" }),
		201,
	);
	await world.set("trusted", liar, { trusted_email_domains: ["corp.test"] });
	const spellings = [email, "Ada@Corp.Test", " ada@corp.test ", "ａda@corp.test"];
	for (const name of ["liar", "trusted"]) {
		for (const spelling of spellings) {
			for (const email_verified of [true, "true", 1, false, undefined]) {
				liar.lie = claims({ sub: `thief of ${name}`, email: spelling, email_verified });
				assert.doesNotMatch((await taken(name)).text, /ada/i);
			}
		}
	}
});

test("a person keeps the account whatever address the provider says, and an address finds no person", async () => {
	const who = (sub: string, email: string) => {
		liar.lie = claims({ sub, email, email_verified: true });
		return world.signIn("liar");
	};
	const first = ok(await who("first", "first@corp.test"));
	const second = ok(await who("second", "second@corp.test"));
	assert.equal(ok(await who("first", "second@corp.test")).user.id, first.user.id);
	assert.equal(ok(await who("first", "")).user.id, first.user.id);
	assert.notEqual(second.user.id, first.user.id);
	assert.notEqual(ok(await who("FIRST", "other@corp.test")).user.id, first.user.id);
	liar.lie = claims({ sub: "recycled", email: "first@corp.test", email_verified: true });
	await taken("liar");
	await world.set("liar", liar, { trusted_email_domains: ["corp.test"] });
	await taken("liar");
	await world.set("liar", liar);
});

test("a trusted provider's verified address is linked with an account without a password, and nothing less is", async () => {
	const trusted_email_domains = ["corp.test"];
	await world.set("first", liar, { trusted_email_domains });
	liar.lie = claims({ sub: "linked", email: "linked@corp.test", email_verified: true });
	const { user } = ok(await world.signIn("first"));
	await world.set("second", liar, { trusted_email_domains: ["corp.test"] });
	for (const email_verified of ["true", 1, false, undefined]) {
		liar.lie = claims({ sub: "linked", email: "linked@corp.test", email_verified });
		await taken("second");
	}
	liar.lie = claims({ sub: "linked", email: "Linked@corp.test", email_verified: true });
	assert.equal(ok(await world.signIn("second")).user.id, user.id);
});

test("an account that a stranger opened with somebody's address is never joined by its owner", async () => {
	liar.lie = claims({ sub: "stranger", email: "owner@corp.test", email_verified: false });
	ok(await world.signIn("liar"));
	await world.set("employer", liar, { trusted_email_domains: ["corp.test"] });
	liar.lie = claims({ sub: "owner", email: "owner@corp.test", email_verified: true });
	await taken("employer");
});

test("new people are let in as the settings say", async () => {
	await world.set("closed", liar, { auto_provision: false });
	await world.set("domain", liar, { allowed_domains: ["corp.test"] });
	liar.lie = claims({ sub: "new", email: "new@evil.test", email_verified: true });
	refused(await world.signIn("closed"), 403, "registration_disabled");
	refused(await world.signIn("domain"), 403, "registration_disabled");
	liar.lie = claims({ sub: "new", email: undefined });
	liar.lie = { ...liar.lie, userinfo: () => ({ sub: "new" }) };
	refused(await world.signIn("domain"), 400, "validation_failed");
	liar.lie = claims({ sub: "new", email: "new@corp.test" });
	ok(await world.signIn("domain"));
});
