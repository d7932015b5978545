import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Binding, MAX_MEMBERSHIPS } from "../../policy/model.ts";
import type { Realm, RealmChange } from "../../realms/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about realms whose name, description or owner changes. */
export async function changedRealmContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { realms } = store;
	// The first one manages the instance, so it stays enabled.
	await addAccount(store);
	const [owner, heir, other] = [await addAccount(store), await addAccount(store), await addAccount(store)];

	const keptBy = (realm: Realm): Binding => ({
		...{ id: crypto.randomUUID(), realm_id: realm.id, user_id: realm.user_id, role: "admin" },
		...{ granted_by: realm.user_id, created_at: MADE_AT },
	});
	const change = (realm: Realm, given: Partial<RealmChange> = {}) => {
		const { id, name, description, user_id } = realm;
		const event = anEvent({ type: "realm.updated", realm_id: id, realm: realm.slug });
		const all = { id, name, description, user_id, by_owner: user_id, kept: undefined, realms_per_account: 100 };
		return realms.change({ ...all, ...given }, event);
	};
	const roleOf = async (realm: Realm, user_id: string) => (await realms.access(realm.slug, user_id))?.role;

	/** A realm of which the heir is an admin. */
	async function heritage(): Promise<Realm> {
		const realm = await addRealm(store, owner);
		await addBinding(store, realm, heir, "admin");
		return realm;
	}

	test("changing the name and description writes an event and changes nothing else", async () => {
		const realm = await addRealm(store, owner);
		const start = await countEvents(store);
		assert.equal(await change(realm, { name: "Another", description: "text" }), "done");
		const found = { ...realm, name: "Another", description: "text", role: "admin" };
		assert.deepEqual({ ...(await realms.access(realm.slug, owner.id)) }, found);
		assert.deepEqual(await eventsAfter(store, start, [realm.id]), [["realm.updated", {}]]);
	});

	test("a new owner loses the binding, and the old one keeps the role given, or none", async () => {
		const realm = await heritage();
		assert.equal(await change(realm, { user_id: heir.id, kept: keptBy(realm) }), "done");
		assert.equal((await realms.access(realm.slug, heir.id))?.user_id, heir.id);
		assert.deepEqual([await roleOf(realm, owner.id), await roleOf(realm, heir.id)], ["admin", "admin"]);
		const bound = await store.policy.list(realm.id, "", 10);
		assert.deepEqual(
			bound.map(({ user_id }) => user_id),
			[owner.id],
		);
		const next = { ...realm, user_id: heir.id };
		assert.equal(await change(next, { user_id: owner.id }), "done");
		assert.deepEqual([await roleOf(realm, owner.id), await roleOf(realm, heir.id)], ["admin", null]);
	});

	test("only an enabled admin of the realm gets it", async () => {
		const realm = await heritage();
		await addBinding(store, realm, other, "member");
		const start = await countEvents(store);
		for (const user_id of [other.id, "nobody", ""]) assert.equal(await change(realm, { user_id }), "not_heir");
		assert.equal(await countEvents(store), start);
		await store.accounts.setDisabled({ user_id: heir.id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await change(realm, { user_id: heir.id }), "not_heir");
		await store.accounts.setDisabled({ user_id: heir.id, disabled_at: null }, anEvent());
		assert.equal(await roleOf(realm, heir.id), "admin");
	});

	test("a former owner changes nothing, and neither does anybody else while the owner is enabled", async () => {
		const realm = await heritage();
		assert.equal(await change(realm, { by_owner: heir.id }), "not_owner");
		assert.equal(await change(realm, { by_owner: undefined }), "not_owner");
		await store.accounts.setDisabled({ user_id: owner.id, disabled_at: MADE_AT }, anEvent());
		assert.equal(await change(realm, { by_owner: undefined, user_id: heir.id }), "done");
		assert.equal(await roleOf(realm, owner.id), null);
		await store.accounts.setDisabled({ user_id: owner.id, disabled_at: null }, anEvent());
		assert.equal(await realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent()), true);
		assert.equal(await change({ ...realm, user_id: heir.id }), "realm_gone");
	});

	test("realms of others fill half of the new owner's limit, those of disabled owners all of it", async () => {
		const [rich, poor] = [await addAccount(store), await addAccount(store)];
		for (let made = 0; made < 2; made++) await addRealm(store, poor);
		const realm = await addRealm(store, rich);
		await addBinding(store, realm, poor, "admin");
		const given = { user_id: poor.id, realms_per_account: 100 };
		await store.accounts.setLimits({ user_id: poor.id, realm_bytes: null, realms: 4 }, anEvent());
		assert.equal(await change(realm, given), "limit_reached");
		await store.accounts.setLimits({ user_id: poor.id, realm_bytes: null, realms: null }, anEvent());
		assert.equal(await change(realm, { ...given, realms_per_account: 4 }), "limit_reached");
		await store.accounts.setDisabled({ user_id: rich.id, disabled_at: MADE_AT }, anEvent());
		const byInstance = { ...given, by_owner: undefined };
		assert.equal(await change(realm, { ...byInstance, realms_per_account: 2 }), "limit_reached");
		assert.equal(await change(realm, { ...byInstance, realms_per_account: 3 }), "done");
	});

	test("an owner whose account has its maximum of roles keeps no role after a transfer", async () => {
		const busy = await addAccount(store);
		const hosts = await Promise.all(Array.from({ length: MAX_MEMBERSHIPS / 100 }, () => addAccount(store)));
		const full = hosts.flatMap((host) => Array.from({ length: 100 }, () => addRealm(store, host)));
		await Promise.all((await Promise.all(full)).map((one) => addBinding(store, one, busy, "viewer")));
		const realm = await addRealm(store, busy);
		await addBinding(store, realm, heir, "admin");
		assert.equal(await change(realm, { user_id: heir.id, kept: keptBy(realm) }), "user_limit_reached");
		assert.equal((await realms.access(realm.slug, busy.id))?.user_id, busy.id);
	});
}
