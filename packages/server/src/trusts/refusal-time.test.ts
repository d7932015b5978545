/* Where nothing is fetched, a refusal comes at the same moment after its arrival, whatever was found until then. Design: §15 */
import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import { type TestContext, test } from "node:test";
import timers from "node:timers/promises";
import { githubClaims, type Json, newKey, signJwt } from "../../../../test/peers/issuer.ts";
import { createThrottle } from "../accounts/throttle.ts";
import { AppError } from "../errors.ts";
import { createTestLog } from "../testing/log.ts";
import { aMachine, aRealm, aTrust } from "../testing/rows.ts";
import { createTestSystem } from "../testing/system.ts";
import { exchangeJwt } from "./exchange.ts";
import { createSightings } from "./sightings.ts";

const ISSUER = "https://token.actions.githubusercontent.com";
const AUDIENCE = "https://svc.example.com";
const key = newKey("ES256", "own");

/** A machine whose trust has its keys, on a clock that moves only by what each step is said to take. */
function setUp(t: TestContext) {
	let now_ms = 1000;
	const after = <T>(ms: number, answer: T): T => {
		now_ms += ms;
		return answer;
	};
	t.mock.method(performance, "now", () => now_ms);
	t.mock.method(timers, "setTimeout", async (ms: number) => after(ms, undefined));
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
	});
	const system = createTestSystem();
	const needs = {
		store: {
			audit: { append: async () => after(3, undefined) },
			realms: { access: async (slug: string) => after(5, slug === realm.slug ? realm : undefined) },
			machines: {
				byName: async (_: string, name: string) => after(70, name === machine.name ? machine : undefined),
			},
			trusts: { list: async () => after(90, [trust]), give: async () => after(40, "replay" as const) },
		},
		system,
		issuer_keys: { keysOf: () => assert.fail("nothing is fetched") },
		throttle: createThrottle({ knows: async () => false }),
		log: createTestLog().log,
		sightings: createSightings(),
	};
	/** Milliseconds until the answer, and the answer. */
	const ask = async (jwt: string, more: { realm?: string; machine?: string } = {}) => {
		const began_ms = now_ms;
		const input = { realm: "shop", machine: "deploy", jwt, ...more };
		const answer = await exchangeJwt(needs, { request_id: "r", ip: "192.0.2.1" }, input).catch((error) => error);
		assert.ok(answer instanceof AppError, "it is refused");
		return [now_ms - began_ms, answer.code, answer.message];
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
