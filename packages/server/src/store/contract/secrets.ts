import assert from "node:assert/strict";
import { after, test } from "node:test";
import { MAX_VERSIONS, type SecretVersion } from "../../secrets/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aDeletion, anEvent, aVersion, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about secrets. */
export async function secretContract(openStore: OpenStore): Promise<void> {
	const { store, refusals } = await openStore({ after });
	const { secrets } = store;
	const owner = await addAccount(store);
	const LATER = "2030-05-05T00:00:00.000Z";

	const newRealm = async () => (await addRealm(store, owner)).id;
	const set = (realm_id: string, key: string, given: Partial<SecretVersion> = {}) =>
		secrets.set(aVersion(realm_id, key, given), anEvent({ realm_id }));
	const remove = (realm_id: string, key: string, environment: SecretVersion["environment"] = "dev") =>
		secrets.remove({ ...aDeletion(), realm_id, environment, key }, anEvent({ realm_id }));
	const keysOf = async (...args: Parameters<typeof secrets.list>) =>
		(await secrets.list(...args)).map(({ key }) => key);
	const versionsOf = async (realm_id: string, key: string, before: number | undefined = undefined, limit = 100) =>
		(await secrets.history(realm_id, "dev", key, before, limit)).map(({ version }) => version);

	test("a secret is read as it was written, as the current version and by its number", async () => {
		const realm = await newRealm();
		const given = { comment: "why", expires_at: LATER, pre_encrypted: true, value: Buffer.from([0, 255, 1]) };
		const { realm_bytes, ...input } = aVersion(realm, "DB/URL", given);
		assert.deepEqual(await secrets.set({ ...input, realm_bytes }, anEvent()), { version: 1, created_at: MADE_AT });
		assert.deepEqual(await secrets.get(realm, "dev", "DB/URL"), { ...input, version: 1 });
		assert.deepEqual(await secrets.version(realm, "dev", "DB/URL", 1), { ...input, version: 1 });
		for (const [environment, key, where] of [
			["prod", "DB/URL", realm],
			["dev", "db/url", realm],
			["dev", "DB/URL ", realm],
			["dev", "DB/URL", "nowhere"],
		] as const) {
			assert.equal(await secrets.get(where, environment, key), undefined);
			assert.equal(await secrets.version(where, environment, key, 1), undefined);
		}
		assert.equal(await secrets.version(realm, "dev", "DB/URL", 2), undefined);
	});

	test("writing again raises the version by one, keeps the first write's time, and puts the number into the event", async () => {
		const realm = await newRealm();
		const start = await countEvents(store);
		await set(realm, "k");
		assert.deepEqual(await set(realm, "k", { created_at: LATER }), { version: 2, created_at: MADE_AT });
		assert.equal((await secrets.get(realm, "dev", "k"))?.created_at, LATER);
		assert.deepEqual(
			(await eventsAfter(store, start, [realm])).map(([, data]) => data.version),
			[1, 2],
		);
	});

	test("versions of one key in another environment or realm are counted apart", async () => {
		const [realm, other] = [await newRealm(), await newRealm()];
		for (const given of [{}, {}, { environment: "prod" }] as const) await set(realm, "k", given);
		await set(other, "k");
		const versions = [secrets.get(realm, "dev", "k"), secrets.get(realm, "prod", "k"), secrets.get(other, "dev", "k")];
		assert.deepEqual(
			(await Promise.all(versions)).map((row) => row?.version),
			[2, 1, 1],
		);
	});

	test("fifty that write one key at once get the versions 1 to 50, each its own", async () => {
		const realm = await newRealm();
		const written = await Promise.all(Array.from({ length: 50 }, () => set(realm, "k")));
		assert.deepEqual(
			written.map((outcome) => typeof outcome === "object" && outcome.version),
			Array.from({ length: 50 }, (_, index) => index + 1),
		);
	});

	test("the last twenty versions are kept, the current one included", async () => {
		const realm = await newRealm();
		for (let version = 1; version <= MAX_VERSIONS; version++) await set(realm, "k");
		assert.equal(await secrets.countHistory(realm, "dev", "k"), 20);
		assert.ok(await secrets.version(realm, "dev", "k", 1));
		await set(realm, "k");
		assert.equal(await secrets.countHistory(realm, "dev", "k"), 20);
		assert.equal(await secrets.version(realm, "dev", "k", 1), undefined);
		for (let version = 22; version <= 25; version++) await set(realm, "k");
		await set(realm, "other");
		assert.deepEqual(
			await versionsOf(realm, "k"),
			Array.from({ length: 20 }, (_, index) => 25 - index),
		);
		assert.equal(await secrets.countHistory(realm, "dev", "k"), 20);
		assert.equal(await secrets.version(realm, "dev", "k", 5), undefined);
		assert.ok(await secrets.version(realm, "dev", "k", 6));
		assert.deepEqual(await versionsOf(realm, "other"), [1]);
	});

	test("a history is newest first, in pages, with who, when, why and until when", async () => {
		const realm = await newRealm();
		const expires_at = "2040-01-01T00:00:00.000Z";
		for (const comment of ["one", "two", "three"]) await set(realm, "k", { comment, created_by: "ada", expires_at });
		assert.deepEqual((await secrets.history(realm, "dev", "k", undefined, 1))[0], {
			version: 3,
			created_at: MADE_AT,
			created_by: "ada",
			comment: "three",
			expires_at,
		});
		assert.deepEqual(await versionsOf(realm, "k", 3, 1), [2]);
		assert.deepEqual(await versionsOf(realm, "k", 1), []);
		assert.deepEqual(await versionsOf(realm, "unknown"), []);
	});

	test("a deleted secret is gone with its history, with one event that names its last version, and again is none", async () => {
		const realm = await newRealm();
		for (let count = 0; count < 3; count++) await set(realm, "k");
		await set(realm, "k", { environment: "prod" });
		const start = await countEvents(store);
		assert.deepEqual(
			[await remove(realm, "k"), await remove(realm, "k"), await remove(realm, "x")],
			[true, false, false],
		);
		assert.deepEqual(await eventsAfter(store, start, [realm]), [
			["encrypt", { version: 3, deletion_id: (await secrets.deleted(realm, "dev", "", "", 1))[0]?.id }],
		]);
		assert.equal(await secrets.get(realm, "dev", "k"), undefined);
		assert.equal(await secrets.version(realm, "dev", "k", 3), undefined);
		assert.deepEqual([await versionsOf(realm, "k"), await secrets.countHistory(realm, "dev", "k")], [[], 0]);
		assert.deepEqual([await keysOf(realm, "dev", "", 10), await secrets.count(realm, "dev")], [[], 0]);
		assert.ok(await secrets.get(realm, "prod", "k"), "the other environment's is there");
	});

	test("a secret that is written again after it was deleted continues counting, with a new time and a fresh history", async () => {
		const realm = await newRealm();
		for (let count = 0; count < 3; count++) await set(realm, "k");
		await set(realm, "z");
		await remove(realm, "k");
		assert.deepEqual(await set(realm, "k", { created_at: LATER }), { version: 4, created_at: LATER });
		assert.deepEqual(await versionsOf(realm, "k"), [4]);
		await remove(realm, "k");
		await remove(realm, "k");
		assert.equal(typeof (await set(realm, "k")) === "object" && (await secrets.get(realm, "dev", "k"))?.version, 5);
		assert.deepEqual(await keysOf(realm, "dev", "", 10), ["z", "k"], "it is a new one in the order of creation");
		assert.equal(await secrets.count(realm, "dev"), 2);
	});

	const restore = (realm_id: string, key: string, id?: string, since = "") =>
		secrets.restore({ realm_id, environment: "dev", key, id, since }, anEvent({ realm_id }));

	test("a deleted secret is restored with its history from the next version on, once, unless its key lives", async () => {
		const realm = await newRealm();
		const value = Buffer.from("kept");
		for (const comment of ["one", "two"]) await set(realm, "k", { value, comment });
		await set(realm, "k", { environment: "prod" });
		await remove(realm, "k");
		const [first] = await secrets.deleted(realm, "dev", "", "", 10);
		assert.partialDeepStrictEqual(first, { key: "k", environment: "dev", version: 2, realm_id: realm });
		await set(realm, "k");
		assert.equal(await restore(realm, "k", first?.id), "lives");
		await remove(realm, "k");
		const all = await secrets.deleted(realm, undefined, "", "", 10);
		assert.deepEqual([all.length, await secrets.countDeleted(realm, "dev", "")], [2, 2]);
		assert.deepEqual((await secrets.deleted(realm, "dev", "", first?.id ?? "", 10)).length, 1);
		const start = await countEvents(store);
		assert.deepEqual(await restore(realm, "k", first?.id), { version: 5, created_at: MADE_AT, updated_at: MADE_AT });
		assert.deepEqual(await eventsAfter(store, start, [realm]), [
			["encrypt", { version: 5, deletion_id: first?.id, versions: 2 }],
		]);
		assert.deepEqual(await versionsOf(realm, "k"), [5, 4]);
		assert.partialDeepStrictEqual(await secrets.get(realm, "dev", "k"), { value, comment: "two", version: 5 });
		assert.equal(await restore(realm, "k", first?.id), "lives");
		await remove(realm, "k");
		assert.equal(await restore(realm, "k", first?.id), "not_found", "that deletion is undone");
		assert.equal(typeof (await restore(realm, "k")), "object", "the newest one");
	});

	test("nothing is restored in another realm, environment or key, or after its time", async () => {
		const [realm, other] = [await newRealm(), await newRealm()];
		await set(realm, "k");
		for (const key of ["k", "l"]) await set(other, key);
		await remove(realm, "k");
		for (const key of ["k", "l"]) await remove(other, key);
		const [theirs] = await secrets.deleted(other, "dev", "", "", 10);
		const [own] = await secrets.deleted(realm, "dev", "", "", 10);
		const tries = [restore(realm, "k", theirs?.id), restore(realm, "x"), restore(other, "l", theirs?.id)];
		tries.push(restore(realm, "k", own?.id, own?.deleted_at));
		assert.deepEqual(await Promise.all(tries), ["not_found", "not_found", "not_found", "not_found"]);
		assert.deepEqual(await secrets.deleted(realm, "dev", own?.deleted_at ?? "", "", 10), []);
		assert.deepEqual(await secrets.deleted(realm, "prod", "", "", 10), []);
	});

	test("a purge removes the living secret and all that was deleted of its key there, and nothing else", async () => {
		const realm = await newRealm();
		for (const key of ["k", "l"]) {
			await set(realm, key);
			await remove(realm, key);
		}
		await set(realm, "k");
		await set(realm, "k", { environment: "prod" });
		const purge = (key: string, only_deleted: boolean, by = MADE_AT) =>
			secrets.purge({ realm_id: realm, environment: "dev", key, by, only_deleted }, anEvent({ realm_id: realm }));
		const start = await countEvents(store);
		assert.equal(await purge("k", true, "2000-01-01T00:00:00.000Z"), 0, "deleted later");
		assert.deepEqual([await purge("k", false), await purge("k", true), await purge("x", false)], [2, 0, 0]);
		assert.deepEqual(await eventsAfter(store, start, [realm]), [["encrypt", { secrets: 2 }]]);
		assert.deepEqual([await secrets.get(realm, "dev", "k"), await restore(realm, "k")], [undefined, "not_found"]);
		assert.ok(await secrets.get(realm, "prod", "k"));
		assert.equal(typeof (await restore(realm, "l")), "object");
		assert.deepEqual(await set(realm, "k"), { version: 3, created_at: MADE_AT }, "the number goes on");
	});

	test("all that was deleted by an instant is purged in parts, each secret with its event", async () => {
		const realm = await newRealm();
		for (let index = 0; index < 150; index++) {
			await set(realm, `k${index}`);
			const late = index === 0 ? { deleted_at: LATER } : {};
			const input = { ...aDeletion(), ...late, realm_id: realm, environment: "dev" as const, key: `k${index}` };
			await secrets.remove(input, anEvent({ realm_id: realm }));
		}
		const start = await countEvents(store);
		assert.ok((await secrets.purgeDeleted(MADE_AT, anEvent())) >= 149);
		const events = await eventsAfter(store, start, [realm]);
		assert.equal(events.length, 149);
		assert.deepEqual(Object.keys(events[0]?.[1] ?? {}), ["key", "environment", "deletion_id", "version"]);
		assert.deepEqual(
			(await secrets.deleted(realm, "dev", "", "", 10)).map(({ key }) => key),
			["k0"],
		);
		assert.equal(await secrets.purgeDeleted(MADE_AT, anEvent()), 0);
	});

	test("one of two simultaneous deletions of a secret succeeds", async () => {
		const realm = await newRealm();
		await set(realm, "k");
		assert.deepEqual(await Promise.all([remove(realm, "k"), remove(realm, "k")]), [true, false]);
	});

	test("nothing is written into a realm that was deleted or never was, and that is no event", async () => {
		const realm = await newRealm();
		await set(realm, "k");
		await store.realms.remove({ id: realm, deleted_at: MADE_AT }, anEvent());
		const start = await countEvents(store);
		assert.deepEqual([await set(realm, "k"), await set("nowhere", "k")], ["realm_gone", "realm_gone"]);
		assert.equal(await countEvents(store), start);
	});

	test("a list is in the order of creation, whatever is written later, of one environment or all, in pages", async () => {
		const realm = await newRealm();
		for (const key of ["c", "a", "b"]) await set(realm, key);
		for (const key of ["a", "d"]) await set(realm, key, { environment: "prod" });
		await set(realm, "c", { comment: "newer" });
		await set(await newRealm(), "foreign");
		assert.deepEqual(await keysOf(realm, undefined, "", 10), ["c", "a", "b", "a", "d"]);
		assert.deepEqual(await keysOf(realm, "dev", "", 10), ["c", "a", "b"]);
		assert.deepEqual(await keysOf(realm, "prod", "", 10), ["a", "d"]);
		assert.deepEqual(await keysOf(realm, "test", "", 10), []);
		const [first, second] = await secrets.list(realm, "dev", "", 2);
		assert.deepEqual([first?.version, first?.bytes, first?.environment], [2, 8, "dev"]);
		const [row, gone] = await secrets.versionsAt(
			[first, { secret_id: 0, version: 1, bytes: 0 }].filter((ref) => ref !== undefined),
		);
		assert.deepEqual([row?.key, row?.comment, row?.realm_id, gone], ["c", "newer", realm, undefined]);
		assert.deepEqual(await keysOf(realm, "dev", second?.position ?? "", 10), ["b"]);
		const counts = [undefined, "dev", "prod", "test"].map((name) => secrets.count(realm, name as "dev"));
		assert.deepEqual(await Promise.all(counts), [5, 3, 2, 0]);
	});

	test("secrets that expire are counted by their current version, before an instant, up to a number", async () => {
		const expiring = (before: string, most = 10) => secrets.countExpiring(before, most);
		const realm = await newRealm();
		const end = "2029-05-05T00:00:00.000Z";
		await set(realm, "never");
		await set(realm, "at", { expires_at: end });
		assert.deepEqual([await expiring(end), await expiring("2029-05-05T00:00:00.001Z")], [0, 1]);
		await set(realm, "soon", { expires_at: "2029-05-04T00:00:00.000Z" });
		assert.equal(await expiring(end), 1);
		await set(realm, "soon");
		assert.equal(await expiring(end), 0, "the current version does not expire");
		await set(realm, "soon", { expires_at: "2029-01-01T00:00:00.000Z" });
		assert.equal(await expiring(end), 1);
		assert.deepEqual([await expiring("2030"), await expiring("2030", 1)], [2, 1]);
		await remove(realm, "soon");
		assert.equal(await expiring(end), 0);
	});

	test("values of every size are kept byte by byte", async () => {
		const realm = await newRealm();
		for (const size of [1, 4096, 262_193]) {
			const value = Buffer.alloc(size, size % 251);
			await set(realm, "k", { value });
			assert.ok((await secrets.get(realm, "dev", "k"))?.value.equals(value));
		}
	});

	test("there are no environments but the four", async () => {
		await assert.rejects(set(await newRealm(), "k", { environment: "qa" as never }), refusals.check);
	});
}
