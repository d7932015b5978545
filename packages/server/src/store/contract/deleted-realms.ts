import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { AuditEvent } from "../../audit/model.ts";
import { limitsText } from "../../machines/decide.ts";
import type { Realm } from "../../realms/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aMachine, aMachineToken, anEvent, aToken, aTrust, aVersion, MADE_AT, purgeable } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

const MARCH = (day: number) => `2030-03-0${day}T00:00:00.000Z`;

/** Tests the port's promises about realms that were deleted and can be restored. */
export async function deletedRealmContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { realms } = store;
	const [owner, member, other] = [await addAccount(store), await addAccount(store), await addAccount(store)];

	const eventOf = (realm: Realm, type: AuditEvent["type"], actor = owner.id) =>
		anEvent({ type, actor, realm_id: realm.id, realm: realm.slug });
	const restore = (realm: Realm, given: Partial<Realm> = {}, since = "") =>
		realms.restore({ ...realm, ...given, since }, eventOf(realm, "realm.restored"));

	/** Adds a machine with a token, a trust, and a token that the trust gave. */
	async function addMachine(realm: Realm) {
		const machine = aMachine(realm.id);
		await store.machines.set(machine, anEvent());
		const trust = aTrust(machine.id);
		await store.trusts.set(trust, anEvent());
		const anExchangedToken = () => aMachineToken(machine.id, { trust_id: trust.id, created_by: "" });
		const tokens = [aMachineToken(machine.id), anExchangedToken()] as const;
		for (const token of tokens) await store.machines.addToken(token, anEvent());
		const give = () => store.trusts.exchange({ token: anExchangedToken(), used: undefined }, anEvent());
		const left = async () => [await store.machines.countTokens(machine.id), await store.trusts.count(machine.id)];
		const letIn = async () =>
			(await Promise.all(tokens.map(({ digest }) => store.tokens.owner(digest)))).filter(Boolean).length;
		return { machine, token: tokens[0], give, left, letIn };
	}

	/** A deleted realm that had a member, a token for it alone, and a secret. */
	async function deletedRealm(given: Partial<Realm> = {}, at = MADE_AT) {
		const realm = await addRealm(store, owner, given);
		await addBinding(store, realm, member, "viewer");
		const token = aToken(owner.id, { realm_id: realm.id });
		await store.tokens.create(token, anEvent());
		await store.secrets.set(aVersion(realm.id, "k"), anEvent());
		await realms.remove({ id: realm.id, deleted_at: at }, eventOf(realm, "realm.deleted", member.id));
		return { realm, token };
	}

	test("a restored realm has its owner, bindings, keys and secrets, and what was limited to it has ended", async () => {
		const { realm, token } = await deletedRealm();
		const start = await countEvents(store);
		assert.equal(await restore(realm), "done");
		assert.deepEqual({ ...(await realms.access(realm.slug, owner.id)) }, { ...realm, role: "admin" });
		assert.equal((await realms.access(realm.slug, member.id))?.role, "viewer");
		assert.equal((await store.keys.ofRealm(realm.id)).length, 1);
		assert.equal((await store.secrets.get(realm.id, "dev", "k"))?.version, 1);
		assert.equal(await store.tokens.byId(token.id), undefined);
		assert.deepEqual(await eventsAfter(store, start, [realm.id]), [["realm.restored", {}]]);
		assert.equal(await restore(realm), "not_found", "it lives");
	});

	test("what is limited to a deleted realm ends in parts, and nothing ends in a realm that lives", async () => {
		const { realm, token } = await deletedRealm();
		assert.equal(await realms.endRestricted(realm.id), 1);
		assert.equal(await store.tokens.byId(token.id), undefined);
		assert.deepEqual([await realms.endRestricted(realm.id), await realms.endRestricted("nowhere")], [0, 0]);
		const alive = await addRealm(store, owner);
		const kept = aToken(owner.id, { realm_id: alive.id });
		await store.tokens.create(kept, anEvent());
		assert.equal(await realms.endRestricted(alive.id), 0);
		assert.equal((await store.tokens.byId(kept.id))?.id, kept.id);
	});

	test("a deleted realm's machines let nobody in from its deletion on, before their tokens and trusts are removed", async () => {
		const realm = await addRealm(store, owner);
		const { machine, token, give, left, letIn } = await addMachine(realm);
		assert.equal(await letIn(), 2);
		const start = await countEvents(store);
		await realms.remove({ id: realm.id, deleted_at: MADE_AT }, eventOf(realm, "realm.deleted"));
		assert.deepEqual(await eventsAfter(store, start), [["realm.deleted", { machine_tokens: 2, trusts: 1 }]]);
		assert.deepEqual([await letIn(), await give()], [0, "gone"]);
		const caller = { name: `${realm.slug}/${machine.name}`, limits: limitsText(machine) };
		const maker = { user_id: machine.id, machine: caller, jti: undefined, token_id: token.id, grants: [] };
		const write = store.secrets.set(aVersion(realm.id, "k"), anEvent({ type: "secret.set", maker }));
		await assert.rejects(write, { code: "unauthorized" });
		assert.equal(await realms.endRestricted(realm.id), 3);
		assert.deepEqual(await left(), [0, 0]);
	});

	test("a realm that is restored before its machines' tokens and trusts were removed has none of them", async () => {
		const realm = await addRealm(store, owner);
		const { left, letIn, give } = await addMachine(realm);
		await realms.remove({ id: realm.id, deleted_at: MADE_AT }, eventOf(realm, "realm.deleted"));
		assert.equal(await restore(realm), "done");
		assert.deepEqual([await left(), await letIn(), await give()], [[0, 0], 0, "gone"]);
		const later = await addMachine(realm);
		assert.equal(await realms.endRestricted(realm.id), 0, "a removal that was under way");
		assert.deepEqual([await later.left(), await later.letIn()], [[2, 1], 2]);
	});

	test("deleted realms of which something is left to end are found, and no others", async () => {
		const add = async (...rows: ("token" | "trust")[]) => {
			const realm = await addRealm(store, owner);
			const machine = aMachine(realm.id);
			await store.machines.set(machine, anEvent());
			if (rows.includes("token")) await store.machines.addToken(aMachineToken(machine.id), anEvent());
			if (rows.includes("trust")) await store.trusts.set(aTrust(machine.id), anEvent());
			return realm;
		};
		const left = [await add("token"), await add("trust"), (await deletedRealm()).realm];
		const [done, nothing, alive] = [await add("token", "trust"), await add(), await add("token", "trust")];
		for (const { id } of [...left.slice(0, 2), done, nothing])
			await realms.remove({ id, deleted_at: MADE_AT }, anEvent());
		await realms.endRestricted(done.id);
		const found = async () => {
			const unended = await realms.unended();
			return [...left, done, nothing, alive].map(({ id }) => unended.includes(id));
		};
		assert.deepEqual(await found(), [true, true, true, false, false, false]);
		for (const { id } of left) await realms.endRestricted(id);
		assert.deepEqual(await found(), [false, false, false, false, false, false]);
	});

	test("a slug that was taken meanwhile stays with the realm that has it; the deleted one comes back under another", async () => {
		const { realm } = await deletedRealm();
		const next = await addRealm(store, other, { slug: realm.slug });
		const start = await countEvents(store);
		assert.equal(await restore(realm), "slug_taken");
		assert.equal(await countEvents(store), start);
		assert.equal(await restore(realm, { slug: `${realm.slug}-old` }), "done");
		assert.equal((await realms.access(realm.slug, owner.id))?.id, next.id);
		assert.equal((await realms.access(`${realm.slug}-old`, owner.id))?.id, realm.id);
	});

	test("the first of ten restores of realms with one slug has it", async () => {
		const ten = [];
		for (let count = 0; count < 10; count++) ten.push((await deletedRealm({ slug: "contested-again" })).realm);
		const outcomes = await Promise.all(ten.map((realm) => restore(realm)));
		assert.deepEqual(outcomes, ["done", ...Array.from({ length: 9 }, () => "slug_taken")]);
	});

	test("nobody restores for another owner, nor what was deleted too long ago", async () => {
		const { realm } = await deletedRealm({}, MARCH(2));
		assert.equal(await restore(realm, { user_id: other.id }), "not_found");
		assert.equal(await restore(realm, {}, MARCH(2)), "not_found");
		assert.equal(await restore(realm, {}, MARCH(1)), "done");
	});

	test("a realm whose purge has begun is never restored, and one that was restored is not purged", async () => {
		const [begun, restored] = [(await deletedRealm()).realm, (await deletedRealm()).realm];
		assert.ok((await realms.empty(purgeable(begun.id))) > 0);
		assert.equal(await restore(begun), "not_found");
		assert.equal((await realms.deletedBefore(MADE_AT, 1000)).filter(({ id }) => id === begun.id).length, 1);
		assert.equal(await restore(restored), "done");
		const late = { id: restored.id, deleted_before: MARCH(1) };
		assert.deepEqual([await realms.empty(late), await realms.purge(late, anEvent())], [0, false]);
		await realms.remove({ id: restored.id, deleted_at: MARCH(1) }, anEvent());
		assert.deepEqual([await realms.empty(late), await realms.purge(late, anEvent())], [0, false]);
		assert.equal((await store.secrets.get(restored.id, "dev", "k"))?.version, 1);
		assert.equal(await realms.purge(purgeable(begun.id), anEvent()), true);
	});

	test("deleted realms are listed for their owner, or all of them, with who deleted each and when", async () => {
		const someone = await addAccount(store);
		const made = [];
		for (const day of [1, 2, 3]) {
			const realm = await addRealm(store, someone);
			await realms.remove({ id: realm.id, deleted_at: MARCH(day) }, eventOf(realm, "realm.deleted", member.id));
			made.push({ ...realm, deleted_by: member.id, deleted_at: MARCH(day) });
		}
		const theirs = { user_id: someone.id, since: MARCH(1) };
		const list = async (which: typeof theirs | { user_id: undefined; since: string }, from = "", limit = 100) =>
			(await realms.deleted(which, from, limit)).map((row) => ({ ...row }));
		assert.deepEqual(await list(theirs), made.slice(1));
		assert.deepEqual(await list({ ...theirs, since: "" }, "", 1), made.slice(0, 1));
		assert.deepEqual(await list(theirs, made[1]?.id), made.slice(2));
		assert.equal(await realms.countDeleted(theirs), 2);
		assert.deepEqual(await list({ ...theirs, user_id: other.id }), []);
		const all = (await list({ user_id: undefined, since: "" })).map(({ id }) => id);
		assert.ok(made.every(({ id }) => all.includes(id)));
		assert.equal(await realms.countDeleted({ user_id: undefined, since: "" }), all.length);
	});

	test("the newest of several deletions of one slug is found, unless an id names one", async () => {
		const slug = "many-times";
		const [first, last] = [
			(await deletedRealm({ slug }, MARCH(3))).realm,
			(await deletedRealm({ slug }, MARCH(2))).realm,
		];
		const find = async (given: { id?: string; user_id?: string; since?: string; slug?: string }) =>
			(await realms.findDeleted({ user_id: undefined, since: "", slug, id: undefined, ...given }))?.id;
		assert.equal(await find({}), first.id, "the one that was deleted last");
		assert.equal(await find({ id: last.id }), last.id);
		assert.equal(await find({ user_id: owner.id }), first.id);
		assert.equal(await find({ user_id: other.id }), undefined);
		assert.equal(await find({ since: MARCH(3) }), undefined);
		assert.equal(await find({ id: last.id, slug: "another" }), undefined);
		assert.equal(await restore(first), "done");
		assert.equal(await find({}), last.id);
	});
}
