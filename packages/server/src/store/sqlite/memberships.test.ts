import assert from "node:assert/strict";
import { after, test } from "node:test";
import { MAX_MEMBERSHIPS } from "../../policy/model.ts";
import { costOf } from "../../testing/cost.ts";
import { aBinding, anEvent } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";

/** Milliseconds of a turn that a request may take. Design: §13 */
const TURN_MS = 50;

test("somebody whom strangers bound in as many realms as can be lists realms and events quickly", async () => {
	const { store } = await openTestStore({ after });
	const [user, ...owners] = await Promise.all(Array.from({ length: 5 }, () => addAccount(store)));
	assert.ok(user);
	const adding = Array.from({ length: MAX_MEMBERSHIPS }, (_, index) => addRealm(store, owners[index % 4] ?? user));
	const realms = await Promise.all(adding);
	await Promise.all(realms.map(({ id }) => store.policy.bind(aBinding(id, user.id), anEvent({ realm_id: id }))));
	const list = costOf(() => void store.realms.list(user.id, undefined, "", 100));
	const count = costOf(() => void store.realms.count(user.id, undefined));
	assert.equal(await store.realms.count(user.id, undefined), MAX_MEMBERSHIPS);
	const any = { realm: undefined, type: undefined, actors: undefined };
	const query = { ...any, scopes: [{ member_id: user.id }] };
	const began = performance.now();
	assert.equal((await store.audit.list(query, undefined, 100)).length, 100);
	assert.ok((await store.audit.count(query)) >= MAX_MEMBERSHIPS);
	const events = performance.now() - began;
	assert.ok(list + count < TURN_MS, `listing realms took ${list} and ${count} ms`);
	assert.ok(events < 2000, `listing events took ${events} ms`);
});
