import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents, eventsAfter, isChainIntact } from "../../../testing/events.ts";
import { aKey, anEvent, aToken, aVersion, MADE_AT } from "../../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../../testing/rules.ts";
import { openTestStore } from "../../../testing/store.ts";
import { openReader } from "../open.ts";

const { store, file } = await openTestStore({ after });
const { realms } = store;
const owner = await addAccount(store);
const member = await addAccount(store);

const remove = (id: string, deleted_at = MADE_AT) =>
	realms.remove({ id, deleted_at }, anEvent({ type: "realm.deleted" }));

/** Counts the rows of a realm in every table that may have some. */
function rowsOf(id: string): Record<string, unknown> {
	const reader = openReader(file);
	const count = (query: string) => reader.prepare(query).pluck().get(id);
	const rows = {
		realm: count("SELECT count(*) FROM realm WHERE id = ?"),
		keyring: count("SELECT count(*) FROM keyring WHERE realm_id = ?"),
		binding: count("SELECT count(*) FROM binding WHERE realm_id = ?"),
		secret: count("SELECT count(*) FROM secret WHERE realm_id = ?"),
		token: count("SELECT count(*) FROM api_token WHERE realm_id = ?"),
	};
	reader.close();
	return rows;
}

/** A realm with a key, a member, a token for it alone, and a secret of three versions. */
async function fullRealm() {
	const realm = await addRealm(store, owner);
	await addBinding(store, realm, member, "member");
	await store.tokens.create(aToken(owner.id, { realm_id: realm.id }), anEvent());
	for (let count = 0; count < 3; count++) await store.secrets.set(aVersion(realm.id, "k"), anEvent());
	return realm;
}

test("the rows of a deleted realm stay until it is purged", async () => {
	const realm = await fullRealm();
	await remove(realm.id);
	assert.deepEqual(rowsOf(realm.id), { realm: 1, keyring: 1, binding: 1, secret: 1, token: 1 });
});

test("purging a deleted realm takes its rows and its keys, leaves every other realm's, and keeps the log", async () => {
	const [gone, kept] = [await fullRealm(), await fullRealm()];
	await store.keys.rotate({ key: aKey(gone.id) }, anEvent());
	await remove(gone.id);
	const start = await countEvents(store);
	assert.equal(await realms.purge(gone.id, anEvent({ type: "realm.purged", realm_id: gone.id })), true);
	assert.deepEqual(rowsOf(gone.id), { realm: 0, keyring: 0, binding: 0, secret: 0, token: 0 });
	assert.deepEqual(rowsOf(kept.id), { realm: 1, keyring: 1, binding: 1, secret: 1, token: 1 });
	const reader = openReader(file);
	const orphans = "SELECT count(*) FROM secret_version WHERE secret_id NOT IN (SELECT id FROM secret)";
	assert.equal(reader.prepare(orphans).pluck().get(), 0);
	reader.close();
	assert.deepEqual(await eventsAfter(store, start, [gone.id]), [["realm.purged", {}]]);
	assert.ok(await isChainIntact(store));
});
