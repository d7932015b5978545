/* Strangers cause exchanges at no cost: however many come at once, and whatever they make the server look at, others have their turn. Design: §13 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, test } from "node:test";
import { part } from "../../../../test/peers/issuer.ts";
import { Scheduler } from "../http/scheduler.ts";
import { createTestLog } from "../testing/log.ts";
import { longestTurn } from "../testing/longest-turn.ts";
import { aMachine, anEvent, aTrust } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import { exchangeJwt } from "./exchange.ts";
import { GivenKeys } from "./given-keys.ts";
import { MAX_TRUSTS } from "./model.ts";

const ISSUER = "https://id.example.com";
const KEYS = 20;

const rules = await openTestRules({ after });
const realm = await addRealm(rules.store, await addAccount(rules.store));
const machine = aMachine(realm.id);
await rules.store.machines.set(machine, anEvent());

/** The slowest keys to read that a trust takes. */
function slowKeys(): object[] {
	return Array.from({ length: KEYS }, (_, at) => {
		const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-521" });
		return { ...publicKey.export({ format: "jwk" }), kid: `key-${at}`, alg: "ES512" };
	});
}

for (let at = 0; at < MAX_TRUSTS; at++) {
	const trust = aTrust(machine.id, { name: `t${at}`, issuer: ISSUER, jwks: JSON.stringify({ keys: slowKeys() }) });
	await rules.store.trusts.set({ ...trust, keys_host: null }, anEvent());
}

test("32 JWTs that arrive at once for a machine of 20 trusts with 20 keys each leave others their turn", async () => {
	const needs = {
		...rules,
		...{
			log: createTestLog().log,
			throttle: createTestThrottle({ knows: () => false }),
		},
		...{ given_keys: new GivenKeys(), scheduler: new Scheduler() },
		issuer_keys: { keysOf: () => assert.fail("nothing is fetched"), kept: () => assert.fail("nothing is fetched") },
	};
	const show = (at: number) => {
		const header = part({ alg: "ES512", typ: "JWT", kid: `key-${at % KEYS}` });
		const jwt = `${header}.${part({ iss: ISSUER, jti: String(at) })}.${part(Buffer.alloc(132, 1))}`;
		const input = { realm: realm.slug, machine: machine.name, jwt };
		return exchangeJwt(needs, { request_id: "r", ip: `192.0.2.${at}` }, input);
	};
	const watch = longestTurn();
	const shown = await Promise.allSettled(Array.from({ length: 32 }, (_, at) => show(at)));
	const { longest_ms } = watch.stop();
	assert.ok(shown.every(({ status }) => status === "rejected"));
	assert.ok(longest_ms < 30, `a turn of ${longest_ms} ms`);
});
