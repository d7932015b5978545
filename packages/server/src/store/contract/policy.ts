import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents } from "../../testing/events.ts";
import { aBinding, anEvent, MADE_AT, newId } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about bindings. */
export async function policyContract(openStore: OpenStore): Promise<void> {
	const { store, refusals } = await openStore({ after });
	const { policy } = store;
	const owner = await addAccount(store);
	const member = await addAccount(store);
	const deleted = await addRealm(store, owner);
	await store.realms.remove({ id: deleted.id, deleted_at: MADE_AT }, anEvent());

	const newRealm = () => addRealm(store, owner);
	const roleOf = async (slug: string, user_id: string) => (await store.realms.access(slug, user_id))?.role;

	test("a role is given, with one event, and is the user's from then on", async () => {
		const realm = await newRealm();
		assert.equal(await roleOf(realm.slug, member.id), null);
		const start = await countEvents(store);
		const binding = aBinding(realm.id, member.id, { role: "member", granted_by: owner.id });
		assert.equal(await policy.bind(binding, anEvent()), "done");
		assert.equal(await roleOf(realm.slug, member.id), "member");
		assert.deepEqual(await policy.list(realm.id, "", 10), [binding]);
		assert.equal(await countEvents(store), start + 1);
	});

	const REFUSED: [outcome: string, realm_id: () => string | Promise<string>, user_id: string][] = [
		["realm_gone", () => "nowhere", member.id],
		["realm_gone", () => deleted.id, member.id],
		["realm_gone", () => deleted.id, owner.id],
		["owner", async () => (await newRealm()).id, owner.id],
		["no_user", async () => (await newRealm()).id, newId()],
		["no_user", async () => (await newRealm()).id, ""],
	];
	for (const [outcome, realm_id, user_id] of REFUSED) {
		test(`a role that cannot be given is ${outcome}, without an event`, async () => {
			const id = await realm_id();
			const start = await countEvents(store);
			assert.equal(await policy.bind(aBinding(id, user_id), anEvent()), outcome);
			assert.deepEqual([await policy.count(id), await countEvents(store)], [0, start]);
		});
	}

	test("a user has one role in a realm: of five that give one at once, the first does", async () => {
		const realm = await newRealm();
		const roles = ["viewer", "admin", "member", "admin", "viewer"] as const;
		const outcomes = await Promise.all(
			roles.map((role) => policy.bind(aBinding(realm.id, member.id, { role }), anEvent())),
		);
		assert.deepEqual(outcomes, ["done", "exists", "exists", "exists", "exists"]);
		assert.equal(await roleOf(realm.slug, member.id), "viewer");
	});

	test("a removed role is gone immediately, with one event; removing it again makes none", async () => {
		const [realm, other] = [await newRealm(), await newRealm()];
		for (const { id } of [realm, other]) await policy.bind(aBinding(id, member.id), anEvent());
		assert.equal(await roleOf(realm.slug, member.id), "viewer");
		const start = await countEvents(store);
		const unbind = () => policy.unbind({ realm_id: realm.id, user_id: member.id }, anEvent());
		assert.deepEqual([await unbind(), await unbind()], [true, false]);
		assert.equal(await roleOf(realm.slug, member.id), null);
		assert.equal(await roleOf(other.slug, member.id), "viewer");
		assert.equal(await policy.unbind({ realm_id: realm.id, user_id: owner.id }, anEvent()), false);
		assert.equal(await countEvents(store), start + 1);
		assert.equal(await policy.bind(aBinding(realm.id, member.id, { role: "admin" }), anEvent()), "done");
		assert.equal(await roleOf(realm.slug, member.id), "admin");
	});

	test("a role is replaced immediately, with one event, for a user who has one in that realm", async () => {
		const [realm, other] = [await newRealm(), await newRealm()];
		const binding = aBinding(realm.id, member.id, { role: "viewer" });
		await policy.bind(binding, anEvent());
		const start = await countEvents(store);
		const change = (realm_id: string, user_id: string) =>
			policy.rebind({ realm_id, user_id, role: "admin", granted_by: owner.id }, anEvent());
		assert.deepEqual(await Promise.all([change(other.id, member.id), change(realm.id, owner.id)]), [false, false]);
		assert.deepEqual([await roleOf(realm.slug, member.id), await countEvents(store)], ["viewer", start]);
		assert.equal(await change(realm.id, member.id), true);
		assert.equal(await roleOf(realm.slug, member.id), "admin");
		assert.deepEqual(await policy.list(realm.id, "", 10), [{ ...binding, role: "admin", granted_by: owner.id }]);
		assert.equal(await countEvents(store), start + 1);
	});

	test("a list is a realm's own bindings in order, after the one that is named and up to its limit", async () => {
		const [realm, other] = [await newRealm(), await newRealm()];
		const ids: string[] = [];
		for (let count = 0; count < 5; count++) {
			const binding = aBinding(realm.id, (await addAccount(store)).id);
			await policy.bind(binding, anEvent());
			ids.push(binding.id);
		}
		await policy.bind(aBinding(other.id, member.id), anEvent());
		const list = async (from: string, limit: number) => (await policy.list(realm.id, from, limit)).map(({ id }) => id);
		assert.deepEqual(await list("", 10), ids);
		assert.deepEqual(await list(ids[1] ?? "", 2), ids.slice(2, 4));
		assert.deepEqual([await policy.count(realm.id), await policy.count("nowhere")], [5, 0]);
	});

	test("there are no roles but the three", async () => {
		const realm = await newRealm();
		await assert.rejects(
			policy.bind(aBinding(realm.id, member.id, { role: "root" as never }), anEvent()),
			refusals.check,
		);
	});
}
