import assert from "node:assert/strict";
import { after, test } from "node:test";
import { LEASE_STATES, type NewLease } from "../../leases/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { addLease } from "../../testing/leases.ts";
import { aConfig, aLease, anEvent, MADE_AT, newId, purgeable } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about beginning and forgetting leases. */
export async function leaseBeginningContract(openStore: OpenStore): Promise<void> {
	const { store, refusals } = await openStore({ after });
	const { leases } = store;
	const owner = await addAccount(store);
	const realm = await addRealm(store, owner);

	const begin = (lease: NewLease, limit: number | null = null) =>
		leases.begin(lease, limit, anEvent({ type: "engine.generate" }));
	const removeRealm = (id: string) => store.realms.remove({ id, deleted_at: MADE_AT }, anEvent());

	/** Counts the answers of each kind. */
	function tally(answers: string[]): Record<string, number> {
		return Object.fromEntries(
			[...new Set(answers)].map((kind) => [kind, answers.filter((one) => one === kind).length]),
		);
	}

	test("an intent is read as it was written, with one event", async () => {
		const start = await countEvents(store);
		const lease = aLease(realm.id, { scope: "admin", role: "readWrite", fence: "run:1", config_realm_id: realm.id });
		assert.equal(await begin(lease), "done");
		const nothingYet = { attempts: 0, last_error: "", reason: "", payload: null, delivered_at: null, closed_at: null };
		const whole = { ...lease, state: "intent", ...nothingYet };
		assert.deepEqual({ ...(await leases.byId(lease.id)) }, { ...whole, altered: false });
		assert.deepEqual({ ...(await leases.byCredential(lease)) }, whole);
		assert.deepEqual(await eventsAfter(store, start), [["engine.generate", {}]]);
	});

	test("exactly 50 of 200 that begin at once with a limit of 50 do, and the others leave nothing", async () => {
		const start = await countEvents(store);
		const made = Array.from({ length: 200 }, () => aLease(realm.id, { engine: "limited" }));
		assert.deepEqual(tally(await Promise.all(made.map((lease) => begin(lease, 50)))), { done: 50, limit_reached: 150 });
		assert.equal(await countEvents(store), start + 50);
		assert.equal(await leases.count({ realm_id: "", engine: "limited", state: "intent" }), 50);
	});

	test("every open lease counts against the limit, and a closed one makes room", async () => {
		const engine = "counted";
		for (const state of LEASE_STATES) await addLease(store, state, aLease(realm.id, { engine }));
		assert.equal(await begin(aLease(realm.id, { engine }), 4), "limit_reached");
		const last = aLease(realm.id, { engine });
		assert.equal(await begin(last, 5), "done");
		assert.equal(await begin(aLease(realm.id, { engine }), 5), "limit_reached");
		await leases.abort({ id: last.id, closed_at: MADE_AT }, anEvent());
		assert.equal(await begin(aLease(realm.id, { engine }), 5), "done");
	});

	test("a limit is that of one configuration: of the common one over all realms, of a realm's own over that realm", async () => {
		const other = await addRealm(store, owner);
		const engine = "scoped";
		assert.equal(await begin(aLease(realm.id, { engine }), 2), "done");
		assert.equal(await begin(aLease(other.id, { engine }), 2), "done");
		assert.equal(await begin(aLease(other.id, { engine }), 2), "limit_reached");
		for (const config_realm_id of [realm.id, other.id]) {
			assert.equal(await begin(aLease(config_realm_id, { engine, config_realm_id }), 1), "done");
			assert.equal(await begin(aLease(config_realm_id, { engine, config_realm_id }), 1), "limit_reached");
		}
		assert.equal(await begin(aLease(realm.id, { engine: "another" }), 1), "done");
		assert.equal(await begin(aLease(realm.id, { engine })), "done", "without a limit");
		assert.equal(await begin(aLease(realm.id, { engine: "none" }), 0), "limit_reached");
	});

	for (const state of LEASE_STATES) {
		test(`a name that a lease had is never given out again, also when that is ${state}`, async () => {
			const { id: _, ...taken } = await addLease(store, state, aLease(realm.id, { scope: "admin" }));
			const again = { name: taken.name, scope: taken.scope, target: taken.target };
			const start = await countEvents(store);
			assert.equal(await begin(aLease(realm.id, again)), "name_taken");
			assert.equal(await begin(aLease(realm.id, { ...again, engine: "another" })), "name_taken");
			assert.equal(await countEvents(store), start);
			assert.equal(await begin(aLease(realm.id, { ...again, scope: "" })), "done", "it is another scope");
			assert.equal(await begin(aLease(realm.id, { ...again, target: "elsewhere" })), "done", "it is another system");
		});
	}

	test("engines that do not say a name beforehand make as many at once as they like, and say it afterwards", async () => {
		const nameless = Array.from({ length: 3 }, () => aLease(realm.id, { name: "" }));
		assert.deepEqual(tally(await Promise.all(nameless.map((lease) => begin(lease)))), { done: 3 });
		const named = (index: number, name: string) =>
			leases.activate({ ...(nameless[index] ?? assert.fail()), name, due_at: 1, payload: null }, anEvent());
		const name = newId();
		assert.equal(await named(0, name), "done");
		const start = await countEvents(store);
		await assert.rejects(named(1, name), refusals.unique);
		assert.equal((await leases.byId(nameless[1]?.id ?? ""))?.state, "intent", "it is still to be dealt with");
		assert.equal(await countEvents(store), start);
		assert.equal(await leases.byCredential({ target: "keyvalue:target", scope: "", name: "" }), undefined);
	});

	test("nothing begins in a realm that is deleted, purged or never was", async () => {
		const gone = await addRealm(store, owner);
		await removeRealm(gone.id);
		const start = await countEvents(store);
		assert.equal(await begin(aLease(gone.id)), "realm_gone");
		await store.realms.purge(purgeable(gone.id), anEvent());
		assert.equal(await begin(aLease(gone.id)), "realm_gone");
		assert.equal(await begin(aLease("nowhere"), 0), "realm_gone");
		assert.equal(await countEvents(store), start + 1, "only the purge");
	});

	test("a credential whose realm is deleted during its creation is revoked immediately", async () => {
		const gone = await addRealm(store, owner);
		const lease = aLease(gone.id);
		await begin(lease);
		await removeRealm(gone.id);
		assert.equal((await leases.byId(lease.id))?.state, "intent", "its maker finds out");
		const now = "2030-01-01T00:00:03.000Z";
		const made = { ...lease, due_at: Date.parse(lease.expires_at), payload: null };
		assert.equal(await leases.activate(made, anEvent({ type: "lease.created", timestamp: now })), "realm_gone");
		const { state, reason, due_at, name } = (await leases.byId(lease.id)) ?? assert.fail();
		assert.deepEqual([state, reason, due_at, name], ["revoking", "realm_deleted", Date.parse(now), lease.name]);
		assert.equal(await leases.activate(made, anEvent()), "lost");
	});

	test("nothing begins with a configuration that is dropped already: nobody could ever revoke it", async () => {
		const engine = "replaced";
		const [old, next] = [aConfig({ engine }), aConfig({ engine })];
		await store.engines.setConfig(old, anEvent());
		await store.engines.setConfig(next, anEvent());
		const start = await countEvents(store);
		assert.equal(await begin(aLease(realm.id, { engine, config_id: old.id })), "config_gone");
		assert.equal(await countEvents(store), start);
		assert.equal(await leases.count({ realm_id: "", engine, state: "" }), 0);
		assert.equal(await begin(aLease(realm.id, { engine, config_id: next.id })), "done");
	});

	test("nothing begins with a configuration that was replaced, though it is kept, nor without one where there is one now", async () => {
		const engine = "kept";
		assert.equal(await begin(aLease(realm.id, { engine })), "done", "before there is any");
		const [old, next] = [aConfig({ engine }), aConfig({ engine })];
		await store.engines.setConfig(old, anEvent());
		assert.equal(await begin(aLease(realm.id, { engine, config_id: old.id })), "done");
		assert.equal(await begin(aLease(realm.id, { engine })), "config_gone");
		await store.engines.setConfig(next, anEvent());
		assert.equal((await store.engines.configById(old.id))?.state, "retired");
		assert.equal(await begin(aLease(realm.id, { engine, config_id: old.id })), "config_gone");
	});

	test("a realm's open leases under the configuration of all realms count against the realm's limit", async () => {
		const [engine, other] = ["shared", await addRealm(store, owner)];
		const at = (realm_id: string, config_realm_id = "") => {
			const lease = aLease(realm_id, { engine, config_realm_id });
			return leases.begin(lease, 100, anEvent(), 2);
		};
		await addLease(store, "revoked", aLease(realm.id, { engine }));
		await begin(aLease(realm.id, { engine, config_realm_id: realm.id }));
		const made = await Promise.all(Array.from({ length: 10 }, () => at(realm.id)));
		assert.deepEqual(tally(made), { done: 2, realm_limit_reached: 8 });
		assert.equal(await at(other.id), "done");
	});

	test("an intent that cannot be written leaves the counts as they were", async () => {
		const engine = "twice";
		const lease = aLease(realm.id, { engine });
		await begin(lease, 2);
		await assert.rejects(begin({ ...lease, name: "another" }, 2), refusals.unique);
		assert.equal(await leases.count({ realm_id: "", engine, state: "" }), 1);
		assert.equal(await begin(aLease(realm.id, { engine }), 2), "done");
	});

	test("leases closed before an instant are forgotten, and their names are free; open ones stay however old they are", async () => {
		const target = "forgotten";
		const days = ["2029-12-01", "2029-12-02", "2029-12-03"].map((day) => `${day}T00:00:00.000Z`);
		const closed = [];
		for (const day of days) closed.push(await addLease(store, "revoked", aLease(realm.id, { target }), day));
		const open = await addLease(store, "active", aLease(realm.id, { target, created_at: "2020-01-01T00:00:00.000Z" }));
		const start = await countEvents(store);
		assert.equal(await leases.forget(days[1] ?? ""), 1);
		assert.equal(await leases.forget("2029-12-02T00:00:00.001Z"), 1);
		assert.equal(await leases.forget("2029-12-02T00:00:00.001Z"), 0);
		const left = await Promise.all([...closed, open].map(({ id }) => leases.byId(id)));
		assert.deepEqual(
			left.map((lease) => lease?.id),
			[undefined, undefined, closed[2]?.id, open.id],
		);
		assert.equal(await countEvents(store), start);
		assert.equal(await begin(aLease(realm.id, { target, name: closed[0]?.name ?? "" })), "done");
	});
}
