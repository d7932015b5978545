import assert from "node:assert/strict";
import { test } from "node:test";
import { actorOf } from "../testing/actor.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { aMachine, aMachineToken, anEvent, aSession } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { revokeAccess } from "./revocation.ts";

test("all that a user made ends, however much it is, and the answer counts the parts together", async (t) => {
	const rules = await openTestRules(t);
	const { store } = rules;
	const [admin, user] = [await addAccount(store), await addAccount(store)];
	const session = aSession(admin.id);
	await store.accounts.openSession({ session, password: admin.password }, anEvent());
	const realm = await addRealm(store, user);
	const machines = [aMachine(realm.id, { created_by: user.id }), aMachine(realm.id, { created_by: user.id })];
	for (const machine of machines) await store.machines.set(machine, anEvent());
	const tokens = machines.flatMap(({ id }) => Array.from({ length: 600 }, () => aMachineToken(id, { trust_id: "t" })));
	await Promise.all(tokens.map((token) => store.machines.addToken(token, anEvent())));
	const start = await countEvents(store);
	const needs = { ...rules, clock: { now: () => 0 }, reaper: { wake: () => undefined } };
	const actor = actorOf(admin, { instance_admin: true, jti: session.jti });
	const asked = { user_id: user.id, realm: undefined, keep_links: false, with_made: true };
	assert.deepEqual(await revokeAccess(needs, actor, asked), {
		...{ sessions: 0, tokens: 0, leases: 0, identities: 0 },
		...{ machine_tokens: 1200, trusts: 0, machines: 2, invitations: 0 },
	});
	const parts = (await eventsAfter(store, start)).map(([type, { machine_tokens, more }]) => [
		type,
		machine_tokens,
		more,
	]);
	assert.deepEqual(parts, [
		["access.revoked", 1000, true],
		["access.revoked", 200, undefined],
	]);
	assert.equal(await store.machines.count(realm.id), 0);
});
