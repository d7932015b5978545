import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { NewVersion, Promoted } from "../../secrets/model.ts";
import { unpack, unpackPairs } from "../../secrets/snapshot.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aDeletion, anEvent, aVersion, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about all secrets of an environment, about promoting them to another one, and about required versions. */
export async function secretSnapshotContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { secrets } = store;
	const owner = await addAccount(store);

	const newRealm = async () => (await addRealm(store, owner)).id;
	const set = (realm_id: string, key: string, given: Partial<NewVersion> = {}) =>
		secrets.set(aVersion(realm_id, key, given), anEvent({ realm_id }));

	/** Reads the environment's secrets as key, version and bytes. */
	async function listAll(realm_id: string, environment: "dev" | "prod", expired_by = "") {
		const refs = [...unpack(await secrets.currentVersions(realm_id, environment, expired_by))];
		const rows = await secrets.versionsAt(refs);
		return rows.map((row, at) => [row?.key, row?.version, refs[at]?.bytes]);
	}

	test("a snapshot has each current version of an environment, oldest first, with the length of its value", async () => {
		const realm = await newRealm();
		for (const key of ["b", "a", "gone", "b"]) await set(realm, key, { value: Buffer.alloc(key.length + 7) });
		await set(realm, "foreign", { environment: "prod" });
		await secrets.remove({ ...aDeletion(), realm_id: realm, environment: "dev", key: "gone" }, anEvent());
		await set(realm, "a", { value: Buffer.alloc(300) });
		assert.deepEqual(await listAll(realm, "dev"), [
			["b", 2, 8],
			["a", 2, 300],
		]);
		assert.deepEqual(await listAll(await newRealm(), "dev"), []);
	});

	test("a snapshot of thousands of secrets is complete", async () => {
		const realm = await newRealm();
		const keys = Array.from({ length: 2500 }, (_, at) => `key-${at}`);
		await Promise.all(keys.map((key) => set(realm, key)));
		const refs = [...unpack(await secrets.currentVersions(realm, "dev", ""))];
		const rows = await secrets.versionsAt(refs);
		assert.deepEqual(
			rows.map((row) => row?.key),
			keys,
		);
	});

	test("a snapshot omits secrets that had expired by an instant", async () => {
		const realm = await newRealm();
		await set(realm, "ends", { expires_at: "2030-02-01T00:00:00.000Z" });
		await set(realm, "stays");
		const keysAt = async (instant: string) => (await listAll(realm, "dev", instant)).map(([key]) => key);
		assert.deepEqual(await keysAt("2030-01-31T23:59:59.999Z"), ["ends", "stays"]);
		assert.deepEqual(await keysAt("2030-02-01T00:00:00.000Z"), ["stays"]);
		assert.deepEqual(await keysAt(""), ["ends", "stays"]);
	});

	test("two environments are compared by key in byte order, including keys that one of them lacks", async () => {
		const realm = await newRealm();
		for (const key of ["b", "_", "A", "a/b", "a.b"]) await set(realm, key);
		for (const key of ["B", "b", "-x", "a.b", "b"]) await set(realm, key, { environment: "prod" });
		await set(realm, "ended", { expires_at: MADE_AT });
		const pairs = [...unpackPairs(await secrets.pairs(realm, "dev", "prod", MADE_AT))];
		const keyOf = async (ref: (typeof pairs)[number]["from"]) => ref && (await secrets.versionsAt([ref]))[0]?.key;
		const found = await Promise.all(
			pairs.map(async ({ from, to }) => [await keyOf(from), await keyOf(to), from?.version ?? 0, to?.version ?? 0]),
		);
		assert.deepEqual(found, [
			[undefined, "-x", 0, 1],
			["A", undefined, 1, 0],
			[undefined, "B", 0, 1],
			["_", undefined, 1, 0],
			["a.b", "a.b", 1, 1],
			["a/b", undefined, 1, 0],
			["b", "b", 1, 2],
		]);
	});

	const promoted = (realm_id: string, key: string, given: Partial<Promoted> = {}): Promoted => ({
		row: aVersion(realm_id, key, { environment: "prod", comment: "promoted" }),
		facts: { key },
		from: { environment: "dev", version: 1 },
		...given,
	});

	test("a write that requires a version changes nothing when another one is current", async () => {
		const realm = await newRealm();
		const start = await countEvents(store);
		const setIf = (if_version: number | null) => set(realm, "k", { if_version });
		assert.equal(await setIf(1), "changed");
		assert.deepEqual(await setIf(null), { version: 1, created_at: MADE_AT });
		assert.equal(await setIf(null), "changed");
		assert.deepEqual(await setIf(1), { version: 2, created_at: MADE_AT });
		assert.equal(await setIf(1), "changed");
		await secrets.remove({ ...aDeletion(), realm_id: realm, environment: "dev", key: "k" }, anEvent());
		assert.equal(await setIf(2), "changed", "a deleted secret has no version");
		assert.deepEqual(await setIf(null), { version: 3, created_at: MADE_AT });
		assert.equal((await countEvents(store)) - start, 4);
	});

	test("secrets are promoted together, each with its event and as the next version of its target", async () => {
		const realm = await newRealm();
		for (const key of ["a", "b"]) await set(realm, key);
		await set(realm, "b", { environment: "prod" });
		const start = await countEvents(store);
		const all = [promoted(realm, "a", { to_version: null }), promoted(realm, "b", { to_version: 1 })];
		assert.deepEqual(await secrets.promote(all, anEvent({ realm_id: realm, data: { from: "dev" } })), [
			{ version: 1, created_at: MADE_AT },
			{ version: 2, created_at: MADE_AT },
		]);
		assert.deepEqual(await eventsAfter(store, start, [realm]), [
			["encrypt", { from: "dev", key: "a", version: 1 }],
			["encrypt", { from: "dev", key: "b", version: 2 }],
		]);
		assert.equal((await secrets.get(realm, "prod", "b"))?.comment, "promoted");
	});

	test("nothing is promoted when one secret is not at the version that was seen", async () => {
		const realm = await newRealm();
		for (const key of ["a", "b", "b"]) await set(realm, key);
		await set(realm, "b", { environment: "prod" });
		const wrong: Partial<Promoted>[] = [
			{},
			{ from: { environment: "dev", version: 3 } },
			{ from: { environment: "staging", version: 1 } },
			{ from: { environment: "dev", version: 2 }, to_version: null },
			{ from: { environment: "dev", version: 2 }, to_version: 2 },
		];
		const start = await countEvents(store);
		for (const given of wrong) {
			const all = [promoted(realm, "a"), promoted(realm, "b", given)];
			assert.equal(await secrets.promote(all, anEvent()), "changed", JSON.stringify(given));
		}
		assert.equal(await countEvents(store), start);
		assert.equal(await secrets.get(realm, "prod", "a"), undefined);
		const free = [promoted(realm, "b", { from: { environment: "dev", version: 2 } })];
		assert.deepEqual(await secrets.promote(free, anEvent()), [{ version: 2, created_at: MADE_AT }]);
		await store.realms.remove({ id: realm, deleted_at: MADE_AT }, anEvent());
		assert.equal(await secrets.promote(free, anEvent()), "realm_gone");
	});
}
