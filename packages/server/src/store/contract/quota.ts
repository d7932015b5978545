import assert from "node:assert/strict";
import { after, test } from "node:test";
import { MAX_ROWS } from "../../realms/row-limits.ts";
import type { NewVersion, Promoted } from "../../secrets/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aDeletion, aNewRealm, anEvent, aRealm, aVersion, MADE_AT, newIdAt, purgeable } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the quotas of realms, and about the number of realms. */
export async function quotaContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { accounts, realms, secrets } = store;
	const owner = await addAccount(store);

	const DAY = "2030-01-02T00:00:00.000Z";
	const DAY_S = 86_400;
	const newRealm = async () => (await addRealm(store, await addAccount(store))).id;
	const sized = (bytes: number) => Buffer.alloc(bytes, 7);
	const at = (seconds: number) => new Date(Date.parse(MADE_AT) + seconds * 1000).toISOString();
	const idAt = (created_at = MADE_AT) => newIdAt(Date.parse(created_at));
	/** Facts of a version that is made so many seconds after the first ones. */
	const madeAt = (seconds: number) => ({ id: idAt(at(seconds)), created_at: at(seconds) });
	const set = (realm_id: string, key: string, given: Partial<NewVersion> = {}) =>
		secrets.set(aVersion(realm_id, key, { id: idAt(given.created_at), ...given }), anEvent({ realm_id }));
	const remove = (realm_id: string, key: string) =>
		secrets.remove({ ...aDeletion(), realm_id, environment: "dev", key }, anEvent({ realm_id }));
	const versionsOf = async (realm_id: string, key: string, environment: "dev" | "prod" = "dev") =>
		(await secrets.history(realm_id, environment, key, undefined, 100)).map(({ version }) => version).reverse();

	/** Bytes that a realm is said to hold. */
	async function heldBy(realm_id: string): Promise<number> {
		const [named] = await realms.named([realm_id]);
		const { realm_bytes } = await realms.fullest({
			max: { ...MAX_ROWS, realm_bytes: 1, realms_per_account: 1 },
			now: MADE_AT,
		});
		return realm_bytes.find(({ name }) => name === named?.slug)?.used ?? 0;
	}

	/** Adds secrets of 488 B, which count 1,000 each. */
	async function fill(realm_id: string, keys: string[], given: Partial<NewVersion> = {}): Promise<void> {
		for (const key of keys) assert.equal(typeof (await set(realm_id, key, { value: sized(488), ...given })), "object");
	}

	test("a realm takes exactly its limit in bytes, each version counted as its value plus 512", async () => {
		const realm = await newRealm();
		await fill(realm, ["a"]);
		const room = { realm_bytes: 3000 };
		assert.equal(await set(realm, "b", { ...room, value: sized(1489) }), "limit_reached");
		assert.deepEqual(await set(realm, "b", { ...room, value: sized(1488) }), { version: 1, created_at: MADE_AT });
		assert.equal(await set(realm, "c", { ...room, value: sized(0) }), "limit_reached");
		assert.equal(await heldBy(realm), 3000);
	});

	test("a refused write changes nothing and is no event, and a purge makes room again, but no deletion does", async () => {
		const realm = await newRealm();
		await fill(realm, ["a", "b", "a"]);
		const start = await countEvents(store);
		const before = await heldBy(realm);
		assert.equal(await set(realm, "c", { value: sized(488), realm_bytes: 3000 }), "limit_reached");
		assert.equal(await countEvents(store), start);
		assert.equal(await heldBy(realm), before);
		assert.deepEqual(await versionsOf(realm, "a"), [1, 2]);
		await remove(realm, "a");
		assert.equal(await heldBy(realm), before, "what can be restored counts");
		const name = { realm_id: realm, environment: "dev", key: "a", only_deleted: true } as const;
		assert.equal(await secrets.purge({ ...name, by: MADE_AT }, anEvent({ realm_id: realm })), 1);
		assert.equal(await heldBy(realm), 1000);
		assert.equal(typeof (await set(realm, "c", { value: sized(488), realm_bytes: 3000 })), "object");
	});

	test("a write to a full realm drops as many of the oldest versions of its own key and environment as it needs", async () => {
		const realm = await newRealm();
		await fill(realm, ["a", "a", "a", "a", "other", "other"]);
		await fill(realm, ["a", "a"], { environment: "prod" });
		const start = await countEvents(store);
		const late = { created_at: DAY, realm_bytes: 8000 };
		assert.equal(typeof (await set(realm, "a", { ...late, value: sized(488) })), "object");
		assert.deepEqual(await versionsOf(realm, "a"), [2, 3, 4, 5]);
		assert.equal(typeof (await set(realm, "a", { ...late, value: sized(1488), created_at: at(2 * DAY_S) })), "object");
		assert.deepEqual(await versionsOf(realm, "a"), [4, 5, 6]);
		assert.deepEqual(await versionsOf(realm, "other"), [1, 2]);
		assert.deepEqual(await versionsOf(realm, "a", "prod"), [1, 2]);
		assert.deepEqual(
			(await eventsAfter(store, start, [realm])).map(([, data]) => data.versions_dropped),
			[1, 2],
			"the log says how many",
		);
		assert.equal(await secrets.version(realm, "dev", "a", 3), undefined);
		assert.equal(await heldBy(realm), 8000);
	});

	test("a version superseded in the last minute is not dropped: the write is refused instead", async () => {
		const realm = await newRealm();
		for (const [index, seconds] of [0, 10, 70].entries())
			await fill(realm, ["a"], { ...madeAt(seconds), comment: String(index) });
		const full = (seconds: number) => ({ value: sized(488), realm_bytes: 3000, ...madeAt(seconds) });
		assert.equal(await set(realm, "a", full(69.999)), "limit_reached");
		assert.deepEqual(await versionsOf(realm, "a"), [1, 2, 3]);
		assert.equal(typeof (await set(realm, "a", full(70))), "object");
		assert.deepEqual(await versionsOf(realm, "a"), [2, 3, 4]);
		assert.equal(await set(realm, "a", full(129.999)), "limit_reached");
		assert.equal(typeof (await set(realm, "a", full(130))), "object");
		assert.deepEqual(await versionsOf(realm, "a"), [3, 4, 5]);
	});

	test("the id of a version says when it was made, whatever its other columns say", async () => {
		const realm = await newRealm();
		const full = (seconds: number) => ({ value: sized(488), realm_bytes: 3000, ...madeAt(seconds) });
		for (const seconds of [0, 10, 70]) await fill(realm, ["a"], { ...madeAt(seconds), created_at: at(-DAY_S) });
		assert.equal(await set(realm, "a", full(69.999)), "limit_reached");
		const other = await newRealm();
		for (const seconds of [0, 10, 70]) await fill(other, ["a"], { ...madeAt(seconds), created_at: at(DAY_S) });
		assert.equal(typeof (await set(other, "a", full(70))), "object");
	});

	test("the current version is never dropped, however full the realm is", async () => {
		const realm = await newRealm();
		await fill(realm, ["a"]);
		assert.equal(await set(realm, "a", { value: sized(488), realm_bytes: 1000, created_at: DAY }), "limit_reached");
		assert.deepEqual(await versionsOf(realm, "a"), [1]);
	});

	test("the twenty-first version always makes its own room", async () => {
		const realm = await newRealm();
		await fill(
			realm,
			Array.from({ length: 20 }, () => "a"),
		);
		assert.equal(typeof (await set(realm, "a", { value: sized(488), realm_bytes: 20_000 })), "object");
		assert.equal(await set(realm, "a", { value: sized(489), realm_bytes: 20_000 }), "limit_reached");
		assert.deepEqual([(await versionsOf(realm, "a")).length, ...(await versionsOf(realm, "a"))].slice(0, 2), [20, 2]);
		assert.equal(await heldBy(realm), 20_000);
	});

	test("a realm over its limit loses nothing by itself, and a key can still be written in the space of its own history", async () => {
		const realm = await newRealm();
		await fill(realm, ["a", "a", "b"]);
		const little = { realm_bytes: 500, created_at: DAY };
		assert.equal(await set(realm, "c", { ...little, value: sized(1) }), "limit_reached");
		assert.equal(await set(realm, "b", { ...little, value: sized(488) }), "limit_reached");
		assert.equal(await set(realm, "a", { ...little, value: sized(489) }), "limit_reached");
		assert.deepEqual(await versionsOf(realm, "a"), [1, 2]);
		assert.equal(typeof (await set(realm, "a", { ...little, value: sized(488) })), "object");
		assert.equal(await heldBy(realm), 3000);
	});

	test("writing and deleting keys again and again reaches a limit, and earlier keys can return", async () => {
		const realm = await newRealm();
		const room = { realm_bytes: 4096 };
		for (let key = 0; key < 16; key++) {
			await set(realm, `k${key}`, room);
			await remove(realm, `k${key}`);
			await secrets.purgeDeleted(MADE_AT, anEvent());
		}
		assert.equal(await heldBy(realm), 0);
		assert.equal(await set(realm, "one more", room), "limit_reached");
		assert.deepEqual(await set(realm, "k3", room), { version: 2, created_at: MADE_AT });
	});

	test("secrets promoted together are all written, or none when one has no room", async () => {
		const realm = await newRealm();
		await fill(realm, ["a", "b"]);
		const promote = (realm_bytes: number) =>
			secrets.promote(
				["a", "b"].map(
					(key): Promoted => ({
						row: aVersion(realm, key, { environment: "prod", value: sized(488), realm_bytes }),
						facts: {},
						from: { environment: "dev", version: 1 },
					}),
				),
				anEvent({ realm_id: realm }),
			);
		const start = await countEvents(store);
		assert.equal(await promote(3999), "limit_reached");
		assert.equal(await countEvents(store), start);
		assert.deepEqual(await versionsOf(realm, "a", "prod"), []);
		assert.ok(Array.isArray(await promote(4000)));
		assert.equal(await heldBy(realm), 4000);
	});

	test("an owner's own limit overrides the setting until it is removed", async () => {
		const ada = await addAccount(store);
		const realm = (await addRealm(store, ada)).id;
		const limits = (realm_bytes: number | null) =>
			accounts.setLimits({ user_id: ada.id, realm_bytes, realms: null }, anEvent());
		await limits(2000);
		await fill(realm, ["a", "b"]);
		assert.equal(await set(realm, "c"), "limit_reached");
		await limits(3000);
		await fill(realm, ["c"]);
		await limits(null);
		assert.equal(await set(realm, "d", { realm_bytes: 3000 }), "limit_reached");
		await fill(realm, ["d"]);
	});

	test("an account's realms are limited, also when requested at once; deleted ones count until they are purged", async () => {
		const ada = await addAccount(store);
		const make = (most = 3) => realms.create(aNewRealm(aRealm(ada.id), undefined, most), anEvent());
		const outcomes = await Promise.all(Array.from({ length: 10 }, () => make()));
		assert.deepEqual(outcomes.filter((outcome) => outcome === "done").length, 3);
		assert.deepEqual(new Set(outcomes), new Set(["done", "limit_reached"]));
		const [first] = await realms.list(ada.id, undefined, "", 1);
		assert.ok(first);
		await realms.remove({ id: first.id, deleted_at: MADE_AT }, anEvent());
		assert.equal(await make(), "limit_reached");
		await realms.purge(purgeable(first.id), anEvent());
		assert.equal(await make(), "done");
		assert.equal(await make(), "limit_reached");
		await accounts.setLimits({ user_id: ada.id, realm_bytes: null, realms: 4 }, anEvent());
		assert.deepEqual([await make(), await make()], ["done", "limit_reached"]);
		assert.equal((await accounts.holdings(ada.id, MADE_AT)).realms, 4);
	});

	test("a role in another account's realm does not count towards an account's own realms", async () => {
		const ada = await addAccount(store);
		for (let count = 0; count < 3; count++)
			await store.policy.bind({ ...(await binding(ada.id)), id: `b${ada.id}${count}` }, anEvent());
		assert.equal(await realms.create(aNewRealm(aRealm(ada.id), undefined, 1), anEvent()), "done");
	});

	async function binding(user_id: string) {
		const realm = await addRealm(store, owner);
		return { id: "", realm_id: realm.id, user_id, role: "admin", granted_by: owner.id, created_at: MADE_AT } as const;
	}
}
