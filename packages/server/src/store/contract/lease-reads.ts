import assert from "node:assert/strict";
import { test } from "node:test";
import { LEASE_STATES, type NewLease } from "../../leases/model.ts";
import { addLease } from "../../testing/leases.ts";
import { aLease, anEvent, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { Cleanup } from "../../testing/store.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about reads of leases. */
export async function leaseReadContract(openStore: OpenStore): Promise<void> {
	/** A store with a realm, and a function that adds leases to it. */
	async function setUp(t: Cleanup) {
		const { store } = await openStore(t);
		const realm = await addRealm(store, await addAccount(store));
		const add = (state: (typeof LEASE_STATES)[number], given: Partial<NewLease> = {}) =>
			addLease(store, state, aLease(realm.id, given));
		return { store, leases: store.leases, realm, add };
	}

	const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

	test("in a ledger without leases nothing is due, nowhere", async (t) => {
		const { leases } = await setUp(t);
		assert.deepEqual(await leases.openTargets(), []);
		assert.equal(await leases.nextDue(), undefined);
		assert.deepEqual(await leases.due("a", Number.MAX_SAFE_INTEGER, 10), []);
		assert.deepEqual(await leases.counts(), []);
	});

	test("the targets are those with an open lease, each once, and the next due time is the earliest of theirs", async (t) => {
		const { leases, add } = await setUp(t);
		for (const state of ["revoked", "aborted", "abandoned"] as const) await add(state, { target: "closed", due_at: 1 });
		for (const due_at of [40, 30, 50]) await add("active", { target: "b", due_at });
		await add("intent", { target: "a", due_at: 60 });
		assert.deepEqual(await leases.openTargets(), ["a", "b"]);
		assert.equal(await leases.nextDue(), 30);
		await add("uncertain", { target: "c", due_at: 20 });
		await add("revoking", { target: "d", due_at: 10 });
		assert.deepEqual(await leases.openTargets(), ["a", "b", "c", "d"]);
		assert.equal(await leases.nextDue(), 10);
	});

	test("due leases of a target are open, their time has come, and the longest due comes first", async (t) => {
		const { leases, add } = await setUp(t);
		const made = [];
		for (const [index, state] of LEASE_STATES.entries()) made.push(await add(state, { due_at: 107 - index }));
		await add("active", { target: "elsewhere", due_at: 1 });
		const open = idsOf(made.slice(0, 4).reverse());
		const due = async (now_ms: number, limit = 10) => idsOf(await leases.due("keyvalue:target", now_ms, limit));
		assert.deepEqual(await due(1000), open);
		assert.deepEqual(await due(105), open.slice(0, 2));
		assert.deepEqual(await due(103), []);
		assert.deepEqual(await due(1000, 3), open.slice(0, 3));
		const { id, engine, config_id, state, due_at } = made[0] ?? assert.fail("no lease");
		assert.deepEqual(
			{ ...(await leases.due("keyvalue:target", 1000, 10))[3] },
			{ id, engine, config_id, state, due_at },
		);
	});

	test("active leases of a target come in pages in the order in which they end, also when many end at once", async (t) => {
		const { leases, add } = await setUp(t);
		const made = [];
		for (const due_at of [300, 200, 200, 100, 200, 400]) made.push(await add("active", { due_at }));
		for (const state of ["intent", "uncertain", "revoking", "revoked"] as const) await add(state, { due_at: 200 });
		await add("active", { target: "elsewhere", due_at: 200 });
		const inOrder = made.toSorted((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0) || (a.id < b.id ? -1 : 1));
		const found = [];
		for (let after: (typeof made)[number] | undefined; ; ) {
			const page = await leases.activeAt("keyvalue:target", after, 2);
			if (page.length === 0) break;
			found.push(...page);
			after = page.at(-1);
		}
		assert.deepEqual(idsOf(found), idsOf(inOrder));
	});

	test("names are found at their target and in their scope, open or closed", async (t) => {
		const { leases, add } = await setUp(t);
		const open = await add("active", { scope: "admin" });
		const closed = await add("revoked", { scope: "admin" });
		const other = await add("active", { scope: "other" });
		const names = [open.name, closed.name, other.name, "unknown", "", `a "quoted', name`];
		const found = await leases.byNames("keyvalue:target", "admin", names);
		assert.deepEqual(
			new Set(found.map(({ id, name, state }) => `${id} ${name} ${state}`)),
			new Set([`${open.id} ${open.name} active`, `${closed.id} ${closed.name} revoked`]),
		);
		assert.deepEqual(await leases.byNames("elsewhere", "admin", names), []);
		assert.deepEqual(await leases.byNames("keyvalue:target", "admin", []), []);
		assert.equal((await leases.byCredential({ ...closed, scope: "admin" }))?.id, closed.id);
		assert.equal(await leases.byCredential({ ...closed, scope: "other" }), undefined);
	});

	test("open leases are counted by engine and state, over the configurations of all realms; a count of none may be left out", async (t) => {
		const { leases, realm, add } = await setUp(t);
		for (const engine of ["documentdb", "keyvalue"]) for (const state of LEASE_STATES) await add(state, { engine });
		await add("active", { engine: "keyvalue", config_realm_id: realm.id });
		const last = await add("revoking", { engine: "pki" });
		await leases.settle({ id: last.id, closed_at: MADE_AT }, anEvent());
		const open = (await leases.counts()).filter(({ count }) => count > 0);
		const counts = Object.fromEntries(open.map((row) => [`${row.engine} ${row.state}`, row.count]));
		const counted = ["documentdb", "keyvalue"].flatMap((engine) =>
			LEASE_STATES.slice(0, 4).map((state): [string, number] => [`${engine} ${state}`, 1]),
		);
		assert.deepEqual(counts, { ...Object.fromEntries(counted), "keyvalue active": 2 });
	});
}
