import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aKey, aNewRealm, anEvent, aRealm, aToken, aVersion, MADE_AT, purgeable } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about realms. */
export async function realmContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { realms } = store;
	const owner = await addAccount(store);
	const member = await addAccount(store);
	const stranger = await addAccount(store);

	const remove = (id: string, deleted_at = MADE_AT) =>
		realms.remove({ id, deleted_at }, anEvent({ type: "realm.deleted" }));
	const idOf = async (slug: string, user_id = owner.id) => (await realms.access(slug, user_id))?.id;

	/** A realm with a key, a member, a token for it alone, and a secret of three versions. */
	async function fullRealm() {
		const realm = await addRealm(store, owner);
		await addBinding(store, realm, member, "member");
		await store.tokens.create(aToken(owner.id, { realm_id: realm.id }), anEvent());
		for (let count = 0; count < 3; count++) await store.secrets.set(aVersion(realm.id, "k"), anEvent());
		return realm;
	}

	test("a realm is made with its key and an event, and is found by its slug with the caller's role", async () => {
		const realm = aRealm(owner.id, { description: "for payments" });
		const key = aKey(realm.id);
		const start = await countEvents(store);
		assert.equal(await realms.create(aNewRealm(realm, key), anEvent()), "done");
		assert.deepEqual(await store.keys.ofRealm(realm.id), [key]);
		assert.equal(await countEvents(store), start + 1);
		await addBinding(store, realm, member, "viewer");
		assert.deepEqual({ ...(await realms.access(realm.slug, owner.id)) }, { ...realm, role: "admin" });
		assert.deepEqual({ ...(await realms.access(realm.slug, member.id)) }, { ...realm, role: "viewer" });
		assert.deepEqual({ ...(await realms.access(realm.slug, stranger.id)) }, { ...realm, role: null });
		assert.equal(await realms.access("unknown", owner.id), undefined);
	});

	test("an owner is the realm's admin, whatever a binding may say", async () => {
		const realm = await addRealm(store, owner);
		await addBinding(store, realm, member, "admin");
		assert.equal((await realms.access(realm.slug, owner.id))?.role, "admin");
	});

	test("a slug belongs to one live realm: of ten that take it at once, the first does, and the others add no key", async () => {
		const start = await countEvents(store);
		const ten = Array.from({ length: 10 }, () => aRealm(owner.id, { slug: "contested" }));
		const outcomes = await Promise.all(ten.map((realm) => realms.create(aNewRealm(realm), anEvent())));
		assert.deepEqual(outcomes, ["done", ...Array.from({ length: 9 }, () => "slug_taken")]);
		assert.equal(await idOf("contested"), ten[0]?.id);
		assert.equal(await countEvents(store), start + 1);
		for (const { id } of ten.slice(1)) assert.deepEqual(await store.keys.ofRealm(id), []);
	});

	test("the slug of a deleted realm is free for a new one, which has another id, another key and nothing in it", async () => {
		const old = await fullRealm();
		await remove(old.id);
		const next = await addRealm(store, stranger, { slug: old.slug });
		assert.notEqual(next.id, old.id);
		assert.equal(await idOf(old.slug, stranger.id), next.id);
		assert.equal((await realms.access(old.slug, owner.id))?.role, null);
		assert.equal((await realms.access(old.slug, member.id))?.role, null);
		assert.deepEqual(await store.secrets.list(next.id, undefined, "", 10), []);
		assert.notDeepEqual(await store.keys.ofRealm(next.id), await store.keys.ofRealm(old.id));
	});

	test("one slug may be deleted many times over", async () => {
		for (let count = 0; count < 3; count++) {
			const realm = await addRealm(store, owner, { slug: "again-and-again" });
			assert.equal(await remove(realm.id), true);
		}
	});

	test("a realm that lives, was purged or never was is not purged, and that is no event", async () => {
		const realm = await fullRealm();
		const start = await countEvents(store);
		assert.equal(await realms.purge(purgeable(realm.id), anEvent()), false);
		assert.equal(await realms.purge(purgeable("nowhere"), anEvent()), false);
		assert.equal(await countEvents(store), start);
		assert.equal((await store.keys.ofRealm(realm.id)).length, 1);
		await remove(realm.id);
		assert.equal(await realms.purge(purgeable(realm.id), anEvent()), true);
		assert.equal(await realms.purge(purgeable(realm.id), anEvent()), false);
	});

	/** Counts a realm's rows wherever the port counts them. */
	async function leftOf(realm_id: string, token: string) {
		return {
			keys: (await store.keys.ofRealm(realm_id)).length,
			bindings: await store.policy.count(realm_id),
			secrets: await store.secrets.count(realm_id, undefined),
			tokens: Number((await store.tokens.byId(token)) !== undefined),
		};
	}

	test("a deleted realm's contents stay until the purge, which removes them and its keys but nothing of another realm", async () => {
		const [gone, kept] = [await fullRealm(), await fullRealm()];
		const [tokenOfGone, tokenOfKept] = [
			aToken(owner.id, { realm_id: gone.id }),
			aToken(owner.id, { realm_id: kept.id }),
		];
		for (const token of [tokenOfGone, tokenOfKept]) await store.tokens.create(token, anEvent());
		await store.keys.rotate({ key: aKey(gone.id) }, anEvent());
		await remove(gone.id);
		assert.deepEqual(await leftOf(gone.id, tokenOfGone.id), { keys: 2, bindings: 1, secrets: 1, tokens: 1 });
		const start = await countEvents(store);
		assert.equal(await realms.purge(purgeable(gone.id), anEvent({ type: "realm.purged", realm_id: gone.id })), true);
		assert.deepEqual(await leftOf(gone.id, tokenOfGone.id), { keys: 0, bindings: 0, secrets: 0, tokens: 0 });
		assert.deepEqual(await leftOf(kept.id, tokenOfKept.id), { keys: 1, bindings: 1, secrets: 1, tokens: 1 });
		assert.deepEqual(await eventsAfter(store, start, [gone.id]), [["realm.purged", {}]]);
	});

	test("a deleted realm is emptied in parts, without events, before it is purged; a live realm is never emptied", async () => {
		const realm = await fullRealm();
		const start = await countEvents(store);
		assert.deepEqual([await realms.empty(purgeable(realm.id)), await realms.empty(purgeable("nowhere"))], [0, 0]);
		assert.equal(await countEvents(store), start);
		await remove(realm.id);
		assert.equal(await realms.empty(purgeable(realm.id)), 2, "a secret and a token");
		assert.equal(await realms.empty(purgeable(realm.id)), 0);
		assert.deepEqual(
			[await store.secrets.count(realm.id, undefined), (await store.keys.ofRealm(realm.id)).length],
			[0, 1],
		);
		assert.equal(await realms.purge(purgeable(realm.id), anEvent()), true);
	});

	test("of several realms, the live ones are named, by slug", async () => {
		const made = [];
		for (const slug of ["zulu", "alpha", "mike"]) made.push(await addRealm(store, owner, { slug }));
		const [zulu, alpha, mike] = made.map(({ id, slug }) => ({ id, slug }));
		await remove(mike?.id ?? "");
		const ids = [...made.map(({ id }) => id), "nowhere"];
		assert.deepEqual(
			(await realms.named(ids)).map((row) => ({ ...row })),
			[alpha, zulu],
		);
		assert.deepEqual(await realms.named([]), []);
	});

	test("a purged realm's slug was free before, and is now", async () => {
		const realm = await fullRealm();
		await remove(realm.id);
		const next = await addRealm(store, owner, { slug: realm.slug });
		await realms.purge(purgeable(realm.id), anEvent());
		assert.equal(await idOf(realm.slug), next.id);
	});

	test("realms that were deleted before an instant are due, and no others", async () => {
		const ids: string[] = [];
		for (const at of ["2030-03-01T00:00:00.000Z", "2030-03-02T00:00:00.000Z", "2030-03-03T00:00:00.000Z"]) {
			const realm = await addRealm(store, owner);
			ids.push(realm.id);
			await remove(realm.id, at);
		}
		await addRealm(store, owner);
		const due = async (instant: string) =>
			(await realms.deletedBefore(instant, 1000)).map(({ id }) => id).filter((id) => ids.includes(id));
		assert.deepEqual(await due("2030-03-02T00:00:00.000Z"), ids.slice(0, 1));
		assert.deepEqual(new Set(await due("2030-03-02T00:00:00.001Z")), new Set(ids.slice(0, 2)));
		assert.deepEqual(new Set((await realms.deletedBefore("9999", 1000)).map(({ id }) => id)).has(ids[2] ?? ""), true);
		assert.equal((await realms.deletedBefore("9999", 2)).length, 2);
	});

	test("a list is the realms that one owns or is bound in, once each and in order, and may be narrowed to one", async () => {
		const [someone, another] = [await addAccount(store), await addAccount(store)];
		const made = [];
		for (const user of [someone, another, someone, another]) made.push(await addRealm(store, user));
		const [mine, bound, mine2, foreign] = made.map((realm) => realm.id);
		for (const realm of made.slice(1, 2)) await addBinding(store, realm, someone, "viewer");
		const list = async (only: string | undefined, from: string, limit: number) =>
			(await realms.list(someone.id, only, from, limit)).map(({ id }) => id);
		assert.deepEqual(await list(undefined, "", 10), [mine, bound, mine2]);
		assert.deepEqual(await list(undefined, mine ?? "", 1), [bound]);
		assert.deepEqual(await list(bound, "", 10), [bound]);
		assert.deepEqual(await list(foreign, "", 10), []);
		assert.deepEqual(await list(mine, mine ?? "", 10), []);
		const counts = [undefined, bound, foreign].map((only) => realms.count(someone.id, only));
		assert.deepEqual(await Promise.all(counts), [3, 1, 0]);
		assert.deepEqual((await realms.list(someone.id, mine, "", 1))[0], made[0]);
	});

	test("a deleted realm is gone for everybody, with one event, and deleting it again is none", async () => {
		const realm = await fullRealm();
		const listed = async (user_id: string) => (await realms.list(user_id, undefined, "", 1000)).map(({ id }) => id);
		assert.ok((await listed(owner.id)).includes(realm.id) && (await listed(member.id)).includes(realm.id));
		const counts = [await realms.count(owner.id, undefined), await realms.count(member.id, undefined)];
		const start = await countEvents(store);
		assert.deepEqual([await remove(realm.id), await remove(realm.id), await remove("nowhere")], [true, false, false]);
		assert.equal(await countEvents(store), start + 1);
		for (const [index, user] of [owner, member].entries()) {
			assert.equal(await realms.access(realm.slug, user.id), undefined);
			assert.ok(!(await listed(user.id)).includes(realm.id));
			assert.equal(await realms.count(user.id, undefined), (counts[index] ?? 0) - 1);
			assert.deepEqual(await realms.list(user.id, realm.id, "", 10), []);
		}
	});
}
