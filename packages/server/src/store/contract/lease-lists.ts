import assert from "node:assert/strict";
import { after, test } from "node:test";
import { LEASE_STATES, type Lease, type LeaseFilter, OPEN_STATES, type OpenCount } from "../../leases/model.ts";
import { addLease } from "../../testing/leases.ts";
import { aLease, anEvent } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about lists of leases. */
export async function leaseListContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { leases } = store;
	const owner = await addAccount(store);
	const realms = [await addRealm(store, owner), await addRealm(store, owner)];
	const ENGINES = ["keyvalue", "documentdb"];

	/** Every lease, newest first. */
	const made: Lease[] = [];
	for (const { id } of realms)
		for (const engine of ENGINES)
			for (const state of LEASE_STATES)
				for (const config_realm_id of ["", id])
					made.unshift(await addLease(store, state, aLease(id, { engine, config_realm_id })));

	const BEHIND = "~";
	const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
	const filters = ["", ...realms.map(({ id }) => id), "nowhere"].flatMap((realm_id) =>
		["", ...ENGINES, "pki"].flatMap((engine) =>
			(["", ...LEASE_STATES] as const).map((state): LeaseFilter => ({ realm_id, engine, state })),
		),
	);

	const matches = (filter: LeaseFilter) => (lease: Lease) =>
		(["realm_id", "engine", "state"] as const).every((field) => filter[field] === "" || filter[field] === lease[field]);

	test("a list has what its filter says, newest first, and as many as are counted, whatever the filter is", async () => {
		for (const filter of filters) {
			const expected = idsOf(made.filter(matches(filter)));
			assert.deepEqual(idsOf(await leases.list(filter, BEHIND, 100)), expected, JSON.stringify(filter));
			assert.equal(await leases.count(filter), expected.length, JSON.stringify(filter));
		}
	});

	test("pages go on after the lease they ended with, and no lease is on two", async () => {
		for (const filter of filters.filter(({ realm_id }) => realm_id !== "nowhere")) {
			const found: string[] = [];
			for (let before = BEHIND; ; ) {
				const page = await leases.list(filter, before, 3);
				found.push(...idsOf(page));
				if (page.length < 3) break;
				before = page.at(-1)?.id ?? "";
			}
			assert.deepEqual(found, idsOf(made.filter(matches(filter))), JSON.stringify(filter));
		}
	});

	test("open leases are counted by configuration, and by realm under the configuration of all realms", async () => {
		const open = OPEN_STATES.length;
		const byEngine = (one: OpenCount, other: OpenCount) =>
			`${one.engine} ${one.realm_id}` < `${other.engine} ${other.realm_id}` ? -1 : 1;
		const of = (ids: string[], each: number) =>
			ids.flatMap((realm_id) => ENGINES.map((engine) => ({ engine, realm_id, open: each }))).sort(byEngine);
		const ids = realms.map(({ id }) => id);
		const configs = [...of([""], 2 * open), ...of(ids, open)].sort(byEngine);
		assert.deepEqual((await leases.openByConfig()).sort(byEngine), configs);
		assert.deepEqual((await leases.openByRealm(100)).sort(byEngine), of(ids, open));
		const [id = ""] = ids;
		await addLease(store, "active", aLease(id, { engine: "keyvalue", config_realm_id: "" }));
		assert.deepEqual(await leases.openByRealm(1), [{ engine: "keyvalue", realm_id: id, open: open + 1 }]);
		assert.equal((await leases.openByConfig()).length, configs.length, "closed ones do not count");
	});

	test("a lease in a list is what it is by itself, its payload included", async () => {
		const [first] = await leases.list({ realm_id: "", engine: "keyvalue", state: "active" }, BEHIND, 1);
		assert.ok(first?.payload instanceof Buffer);
		assert.deepEqual(first, await leases.byId(first.id));
	});

	test("an answered change is in the next list", async () => {
		const filter = { realm_id: realms[0]?.id ?? "", engine: "new", state: "" } as const;
		for (let count = 1; count <= 20; count++) {
			await leases.begin(aLease(filter.realm_id, { engine: "new" }), null, anEvent());
			assert.equal((await leases.list(filter, BEHIND, 100)).length, count);
			assert.equal(await leases.count(filter), count);
		}
	});

	test("a state is open when a lease in it has something due", () => {
		for (const { state, due_at } of made) assert.equal(OPEN_STATES.includes(state), due_at !== null, state);
	});
}
