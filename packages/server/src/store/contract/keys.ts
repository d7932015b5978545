import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { KeyRow } from "../../crypto/keyring-model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aKey, anEvent } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { type Cleanup, ROW_KEY } from "../../testing/store.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the keyring. */
export async function keyContract(openStore: OpenStore): Promise<void> {
	const inOrder = (rows: KeyRow[]) => rows.toSorted((a, b) => Buffer.compare(a.id, b.id));
	const shown = (rows: KeyRow[]) =>
		inOrder(rows).map(({ id, state, wrapped }) => [id.toString("hex"), state, wrapped.toString("hex")]);

	/** A store whose keyring has a shared key and the fingerprint `old`. */
	async function setUp(t: Cleanup) {
		const { store, refusals } = await openStore(t);
		const key = aKey("", { purpose: "portable" });
		assert.equal(await store.keys.initialize({ fingerprint: "old", keys: [key] }, anEvent()), "done");
		return { store, refusals, keys: store.keys, key };
	}

	test("a new store takes its fingerprint and its keys once, with one event", async (t) => {
		const { store } = await openStore(t);
		const { keys } = store;
		assert.deepEqual([await keys.fingerprint(), await keys.all()], [undefined, []]);
		const made = [aKey("", { purpose: "session" }), aKey("", { purpose: "cursor" })];
		assert.equal(await keys.initialize({ fingerprint: "fp", keys: made }, anEvent({ type: "key.created" })), "done");
		assert.equal(await keys.fingerprint(), "fp");
		assert.deepEqual(inOrder(await keys.shared()), inOrder(made));
		assert.equal(await keys.initialize({ fingerprint: "other", keys: [aKey("")] }, anEvent()), "exists");
		assert.deepEqual([await keys.fingerprint(), (await keys.all()).length], ["fp", 2]);
		assert.equal(await countEvents(store), 1);
	});

	test("one of two that initialise at once does", async (t) => {
		const { store } = await openStore(t);
		const initialize = (fingerprint: string) => store.keys.initialize({ fingerprint, keys: [] }, anEvent());
		assert.deepEqual(await Promise.all([initialize("a"), initialize("b")]), ["done", "exists"]);
		assert.equal(await store.keys.fingerprint(), "a");
	});

	test("keys are found by realm and by id", async (t) => {
		const { store, keys, key } = await setUp(t);
		const realm = await addRealm(store, await addAccount(store));
		const [own] = await keys.ofRealm(realm.id);
		assert.deepEqual([own?.realm_id, own?.purpose, own?.state], [realm.id, "record", "active"]);
		assert.deepEqual(await keys.shared(), [key]);
		assert.deepEqual(await keys.byId(key.id), key);
		assert.deepEqual(await keys.byId(own?.id ?? Buffer.alloc(0)), own);
		for (const id of [Buffer.alloc(8), key.id.subarray(0, 7), Buffer.alloc(0)])
			assert.equal(await keys.byId(id), undefined);
		assert.deepEqual(await keys.ofRealm("nowhere"), []);
		assert.equal((await keys.all()).length, 2);
	});

	test("a new key for rows authenticates them all, and the one before is destroyed when none needs it", async (t) => {
		const { store, keys } = await setUp(t);
		const [old, next] = [aKey("", { purpose: "rows", id: ROW_KEY.id }), aKey("", { purpose: "rows" })];
		const walk = async () => {
			let steps = 1;
			for (let at = await keys.renewRows(""); at !== ""; at = await keys.renewRows(at)) steps++;
			return steps;
		};
		await keys.rotate({ key: old }, anEvent());
		const owner = await addAccount(store);
		for (let count = 0; count < 120; count++) await addRealm(store, owner);
		const given = { id: next.id, bytes: Buffer.alloc(32, 3) };
		await store.guard([ROW_KEY, given]);
		assert.equal(await keys.rotate({ key: next }, anEvent()), "done");
		assert.equal(await keys.rotate({ key: aKey("", { purpose: "rows" }) }, anEvent()), "unfinished");
		const sound = { access: [], content: [] };
		assert.deepEqual(await store.checkIntegrity(), sound, "before its rows are renewed");
		assert.equal(await keys.destroyRowKey(old.id, anEvent()), "in_use");
		await keys.renewRows(await keys.renewRows(""));
		assert.deepEqual(await store.checkIntegrity(), sound, "in the middle");
		assert.ok((await walk()) > 2, "a step takes some");
		assert.deepEqual(await store.checkIntegrity(), sound, "when all are renewed");
		assert.equal(await keys.destroyRowKey(next.id, anEvent()), "in_use", "the active one");
		const before = await countEvents(store);
		assert.equal(await keys.destroyRowKey(old.id, anEvent({ type: "key.destroyed" })), "done");
		assert.equal(await keys.destroyRowKey(old.id, anEvent()), "done");
		assert.equal(await countEvents(store), before + 1);
		assert.equal(await keys.byId(old.id), undefined);
		await store.guard([given]);
		assert.deepEqual(await store.checkIntegrity(), sound, "without the key before");
		assert.equal(await store.realms.count(owner.id, undefined), 120);
	});

	test("a rotation retires the active key of that purpose and realm and no other, with one event", async (t) => {
		const { store, keys, key } = await setUp(t);
		const rows = [aKey("", { purpose: "session" }), aKey("a"), aKey("b")];
		for (const row of rows) await keys.rotate({ key: row }, anEvent());
		const start = await countEvents(store);
		const next = aKey("a");
		assert.equal(await keys.rotate({ key: next }, anEvent()), "done");
		const states = Object.fromEntries((await keys.all()).map((row) => [row.id.toString("hex"), row.state]));
		const stateOf = (row: KeyRow | undefined) => states[row?.id.toString("hex") ?? ""];
		assert.deepEqual([key, ...rows, next].map(stateOf), ["active", "active", "retired", "active", "active"]);
		assert.equal(await countEvents(store), start + 1);
	});

	test("keys of realms are counted, shared keys are not", async (t) => {
		const { keys } = await setUp(t);
		assert.deepEqual(await keys.countOfRealms(), { active: 0, retired: 0 });
		for (const key of [aKey("a"), aKey("a"), aKey("b")]) await keys.rotate({ key }, anEvent());
		assert.deepEqual(await keys.countOfRealms(), { active: 2, retired: 1 });
	});

	test("there is one active key of a purpose and realm: another cannot be added", async (t) => {
		const { store, refusals, keys, key } = await setUp(t);
		const owner = await addAccount(store);
		await assert.rejects(
			addRealm(store, owner, { id: "r" }).then(() => keys.rotate({ key: aKey("r", { id: key.id }) }, anEvent())),
			refusals.unique,
		);
		assert.equal((await keys.ofRealm("r"))[0]?.state, "active", "the failed rotation retired nothing");
	});

	test("every key is wrapped again in one step, and the event says how many, and from which to which", async (t) => {
		const { store, keys } = await setUp(t);
		for (let count = 0; count < 3; count++) await keys.rotate({ key: aKey("a") }, anEvent());
		const start = await countEvents(store);
		const wrapped = (await keys.all()).map(({ id }) => ({ id, wrapped: Buffer.alloc(73, id[0]) }));
		assert.equal(
			await keys.rewrap({ from: "old", to: "new", keys: wrapped }, anEvent({ type: "key.rotated" })),
			"done",
		);
		assert.equal(await keys.fingerprint(), "new");
		for (const row of await keys.all()) assert.deepEqual(row.wrapped, Buffer.alloc(73, row.id[0]));
		assert.deepEqual(await eventsAfter(store, start), [["key.rotated", { from: "old", to: "new", keys: 4 }]]);
	});

	/** Inputs that no longer fit the stored keyring at the time of writing. */
	const CHANGED: Record<string, (keys: { id: Buffer; wrapped: Buffer }[]) => { from?: string; keys?: typeof keys }> = {
		"another fingerprint": () => ({ from: "other" }),
		"a key less": (keys) => ({ keys: keys.slice(1) }),
		"a key more": (keys) => ({ keys: [...keys, { id: Buffer.alloc(8, 1), wrapped: Buffer.alloc(73) }] }),
		"another key in one's place": (keys) => ({
			keys: [{ id: Buffer.alloc(8, 1), wrapped: Buffer.alloc(73) }, ...keys.slice(1)],
		}),
		"no key": () => ({ keys: [] }),
	};
	const unchanged = await setUp({ after });
	await unchanged.keys.rotate({ key: aKey("a") }, anEvent());

	for (const [what, change] of Object.entries(CHANGED)) {
		test(`nothing is wrapped again when the keyring has changed meanwhile: ${what}`, async () => {
			const { store, keys } = unchanged;
			const before = shown(await keys.all());
			const start = await countEvents(store);
			const wrapped = (await keys.all()).map(({ id }) => ({ id, wrapped: Buffer.alloc(73, 9) }));
			const input = { from: "old", to: "new", keys: wrapped, ...change(wrapped) };
			assert.equal(await keys.rewrap(input, anEvent()), "changed");
			assert.deepEqual(
				[shown(await keys.all()), await keys.fingerprint(), await countEvents(store)],
				[before, "old", start],
			);
		});
	}
}
