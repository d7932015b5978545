/* Where an issuer's keys are given or remembered, a refusal comes at the same moment after its arrival, whatever was found until then. Design: §15 */
import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import { type TestContext, test } from "node:test";
import timers from "node:timers/promises";
import { githubClaims, type Json, newKey, signJwt } from "../../../../test/peers/issuer.ts";
import { AppError } from "../errors.ts";
import { Scheduler } from "../http/scheduler.ts";
import { createTestLog } from "../testing/log.ts";
import { aMachine, aRealm, aTrust } from "../testing/rows.ts";
import { createTestSystem } from "../testing/system.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import { exchangeJwt } from "./exchange.ts";
import { GivenKeys } from "./given-keys.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { type IssuerKey, readKeys } from "./jwks.ts";
import type { Trust } from "./model.ts";

const ISSUER = "https://token.actions.githubusercontent.com";
const AUDIENCE = "https://svc.example.com";
const key = newKey("ES256", "own");

/** Keys of issuers, which no test but those of them needs. */
const NONE = {
	keysOf: () => assert.fail("nothing is fetched"),
	kept: () => assert.fail("nothing is fetched"),
};

/** A machine whose trust has its keys unless others are given, on a clock that moves only by what each step is said to take. */
function setUp(t: TestContext, issuer_keys: Pick<IssuerKeys, "keysOf" | "kept"> = NONE, given: Partial<Trust> = {}) {
	let now_ms = 1000;
	const after = <T>(ms: number, answer: T): T => {
		now_ms += ms;
		return answer;
	};
	t.mock.method(performance, "now", () => now_ms);
	t.mock.method(timers, "setTimeout", async (ms: number, value: unknown) => after(ms, value));
	// The rule imports the function by its name.
	syncBuiltinESMExports();
	t.after(() => {
		t.mock.restoreAll();
		syncBuiltinESMExports();
	});
	const realm = { ...aRealm("ada", { slug: "shop" }), role: null };
	const machine = aMachine(realm.id, { name: "deploy" });
	const trust = aTrust(machine.id, {
		type: "github",
		issuer: ISSUER,
		audience: AUDIENCE,
		claims: '{"repository_id":"2002"}',
		jwks: JSON.stringify({ keys: [key.jwk] }),
		...given,
	});
	const system = createTestSystem();
	const needs = {
		store: {
			audit: { append: async () => after(3, undefined) },
			realms: { access: async (slug: string) => after(5, slug === realm.slug ? realm : undefined) },
			machines: {
				byName: async (_: string, name: string) => after(70, name === machine.name ? machine : undefined),
				byId: async () => after(5, { ...machine, realm: realm.slug, payer: "ada" }),
			},
			trusts: {
				list: async () => after(90, [trust]),
				noteSource: () => undefined,
				forgetSource: () => undefined,
				exchange: async () => after(40, given.jwks !== null ? ("replay" as const) : ("done" as const)),
			},
		},
		system,
		issuer_keys,
		throttle: createTestThrottle({ knows: async () => false }),
		log: createTestLog().log,
		given_keys: new GivenKeys(),
		scheduler: new Scheduler(),
	};
	/** Milliseconds until the answer, and the answer. */
	const ask = async (jwt: string, more: { realm?: string; machine?: string } = {}) => {
		const began_ms = now_ms;
		const input = { realm: "shop", machine: "deploy", jwt, ...more };
		const answer = await exchangeJwt(needs, { request_id: "r", ip: "192.0.2.1" }, input).then(
			() => ["given"],
			(error) => {
				assert.ok(error instanceof AppError, String(error));
				return [error.code, error.message];
			},
		);
		return [now_ms - began_ms, ...answer];
	};
	const claims = (more: Json = {}) => ({ ...githubClaims(ISSUER, AUDIENCE, system.now().getTime() / 1000), ...more });
	return { ask, claims };
}

test("every refusal comes 250 ms after its arrival, with the same code and message, however much was looked at", async (t) => {
	const { ask, claims } = setUp(t);
	const [first, ...others] = [
		await ask("no JWT"),
		await ask(signJwt(key, claims(), { alg: "HS256" })),
		await ask(signJwt(key, claims()), { realm: "none" }),
		await ask(signJwt(key, claims()), { machine: "none" }),
		await ask(signJwt(key, claims({ iss: "https://id.example.com" }))),
		await ask(signJwt(key, claims(), { kid: "unknown" })),
		await ask(signJwt(newKey("ES256", "own"), claims())),
		await ask(signJwt(key, claims({ aud: "https://other.example.com" }))),
		await ask(signJwt(key, claims({ repository_id: "3003" }))),
		await ask(signJwt(key, claims())),
	];
	assert.deepEqual(first.slice(0, 2), [250, "invalid_credentials"]);
	for (const other of others) assert.deepEqual(other, first);
});

/** The trust asks its issuer for keys. */
const ASKS = { jwks: null, keys_host: "token.actions.githubusercontent.com" };

test("a JWT that no remembered key fits is refused at the same moment, while its issuer is still asked", async (t) => {
	const first = readKeys([key.jwk]);
	const { ask, claims } = setUp(t, { keysOf: () => new Promise(() => undefined), kept: () => first }, ASKS);
	const unknown = await ask("no JWT");
	assert.equal(unknown[0], 250);
	const rotated = newKey("ES256", "rotated");
	assert.deepEqual(await ask(signJwt(rotated, claims())), unknown);
	assert.deepEqual(await ask(signJwt(newKey("ES256", "own"), claims())), unknown);
	assert.deepEqual(await ask(signJwt(key, claims({ repository_id: "3003" }))), unknown, "a JWT that the issuer signed");
});

test("a new key that the issuer gives in time is used immediately, and a withdrawn one is not", async (t) => {
	const rotated = newKey("ES256", "rotated");
	let renewed: readonly IssuerKey[] = readKeys([rotated.jwk]);
	const kept = readKeys([key.jwk]);
	const issuer_keys = { keysOf: async () => renewed, kept: () => kept };
	const { ask, claims } = setUp(t, issuer_keys, ASKS);
	const [, refusal] = await ask("no JWT");
	assert.equal((await ask(signJwt(rotated, claims())))[1], "given");
	assert.equal((await ask(signJwt(key, claims())))[1], refusal);
	renewed = kept;
	assert.equal((await ask(signJwt(key, claims())))[1], "given");
});
