import assert from "node:assert/strict";
import { after, test } from "node:test";
import { actorOf } from "../testing/actor.ts";
import { aMachine, anEvent } from "../testing/rows.ts";
import { addAccount, addBinding, addRealm, openTestRules } from "../testing/rules.ts";
import { IssuerUnavailable } from "./fetch.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { setTrust } from "./trusts.ts";

const rules = await openTestRules({ after });

test("asking a new trust's issuer for its keys counts toward the account that makes the trust", async () => {
	const [owner, maker] = [await addAccount(rules.store), await addAccount(rules.store)];
	const realm = await addRealm(rules.store, owner);
	await addBinding(rules.store, realm, maker, "admin");
	const machine = aMachine(realm.id, { created_by: owner.id });
	await rules.store.machines.set(machine, anEvent());
	const payers: string[] = [];
	const issuer_keys: IssuerKeys = {
		keysOf: () => assert.fail("no JWT is shown"),
		kept: () => undefined,
		async findHost({ payer }) {
			payers.push(payer);
			throw new IssuerUnavailable("it is away");
		},
		stale: () => 0,
		limit: { name: "issuers", max: 1, used: () => 0, hint: "" },
	};
	const given = {
		type: null,
		issuer: "https://id.example.com",
		trust_domain: null,
		audience: "https://svc.example.com",
	};
	const trusted = { claims: { sub: "deploy" }, max_ttl: "1h", single_use: null, jwks: null, ca_cert: null };
	const named = { slug: realm.slug, name: machine.name, trust: "ci" };
	const made = setTrust({ ...rules, issuer_keys }, actorOf(maker), named, { ...given, ...trusted });
	await assert.rejects(made, { code: "conflict" });
	assert.deepEqual(payers, [maker.id]);
});
