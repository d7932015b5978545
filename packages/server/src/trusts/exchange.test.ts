import assert from "node:assert/strict";
import { after, test } from "node:test";
import { githubClaims, type Json, newKey, signJwt } from "../../../../test/peers/issuer.ts";
import { Scheduler } from "../http/scheduler.ts";
import { createTestLog } from "../testing/log.ts";
import { aMachine, anEvent, aTrust, newId } from "../testing/rows.ts";
import { addAccount, addBinding, addRealm, openTestRules } from "../testing/rules.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import { type ExchangeNeeds, exchangeJwt } from "./exchange.ts";
import { GivenKeys } from "./given-keys.ts";
import type { KeySource } from "./issuer-keys.ts";
import { readKeys } from "./jwks.ts";

const ISSUER = "https://id.example.com";
const AUDIENCE = "https://svc.example.com";
const key = newKey("ES256", "own");

const rules = await openTestRules({ after });
const realm = await addRealm(rules.store, await addAccount(rules.store));
const maker = await addAccount(rules.store);
await addBinding(rules.store, realm, maker, "admin");
const machine = aMachine(realm.id, { created_by: maker.id });
await rules.store.machines.set(machine, anEvent());
const trust = aTrust(machine.id, { claims: '{"repository_id":"2002"}' });
await rules.store.trusts.set(trust, anEvent());
const { log, entries } = createTestLog();

/** Issuers whose keys were asked for. */
const asked: KeySource[] = [];

const now_s = () => rules.system.now().getTime() / 1000;
const mint = (more: Json = {}) => signJwt(key, { ...githubClaims(ISSUER, AUDIENCE, now_s()), ...more });

const throttle = createTestThrottle({ knows: () => false });

/** Shows a JWT. @returns `given`, the reason of the refusal, or the code of another one */
async function show(jwt: string, more: Partial<ExchangeNeeds> = {}): Promise<unknown> {
	const needs = {
		...rules,
		...{ log, throttle, given_keys: new GivenKeys(), scheduler: new Scheduler() },
		issuer_keys: {
			async keysOf(source: KeySource) {
				asked.push(source);
				return readKeys([key.jwk]);
			},
			kept: () => undefined,
		},
		...more,
	};
	const input = { realm: realm.slug, machine: machine.name, jwt };
	return exchangeJwt(needs, { request_id: "r", ip: "192.0.2.1" }, input).then(
		() => "given",
		({ code }) => (code === "invalid_credentials" ? entries().at(-1)?.reason : code),
	);
}

test("a used JWT is remembered for as long as it would be taken, whatever the housekeeping forgets", async () => {
	const exp = now_s() + 300;
	const jwt = mint({ exp });
	assert.equal(await show(jwt), "given");
	rules.system.setClock(new Date(exp * 1000 + 29_999).toISOString());
	await rules.store.trusts.forgetUsed(rules.system.now().toISOString());
	assert.equal(await show(jwt), "replay");
	assert.equal(await show(mint({ exp })), "given", "the last moment");
	rules.system.advance(1);
	assert.equal(await show(jwt), "expired");
});

test("nobody is asked for keys because of a JWT whose issuer is not that of a trust of the machine", async () => {
	asked.length = 0;
	for (const iss of [`${ISSUER}/`, "https://169.254.169.254", "https://ID.example.com", undefined, [ISSUER]])
		assert.equal(await show(mint({ iss })), "issuer", String(iss));
	assert.deepEqual(asked, []);
	assert.equal(await show(mint()), "given");
	assert.deepEqual(
		asked.map(({ issuer, realm_id }) => [issuer, realm_id]),
		[[ISSUER, realm.id]],
	);
});

test("what an exchange takes up counts toward the account that made the machine, not toward the realm's owner", async () => {
	const payers: string[] = [];
	const noteSource: ExchangeNeeds["store"]["trusts"]["noteSource"] = ({ payer }) => void payers.push(payer);
	const store = { ...rules.store, trusts: { ...rules.store.trusts, noteSource } };
	const scheduler: ExchangeNeeds["scheduler"] = {
		step([payer], work) {
			payers.push(payer);
			return work();
		},
	};
	await rules.store.trusts.set({ ...trust, id: newId(), single_use: false }, anEvent());
	asked.length = 0;
	assert.equal(await show(mint(), { scheduler, store }), "given");
	payers.push(...asked.map(({ payer }) => payer));
	assert.deepEqual(payers, [maker.id, maker.id, maker.id]);
});

test("a source over its limit of JWT exchanges is refused before any issuer is asked for keys", async () => {
	for (let count = 0; count < 1200; count++) await throttle.exchange("192.0.2.1").catch(() => undefined);
	asked.length = 0;
	assert.equal(await show(mint()), "rate_limited");
	assert.deepEqual(asked, []);
});
