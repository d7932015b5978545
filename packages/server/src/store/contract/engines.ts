import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { EngineConfigRow } from "../../engines/model.ts";
import type { LeaseState } from "../../leases/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { addLease } from "../../testing/leases.ts";
import { aConfig, aLease, anEvent, MADE_AT, newId, purgeable } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about engines' configurations. */
export async function engineContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { engines, leases } = store;
	const owner = await addAccount(store);

	/** An engine that no other test uses. */
	const anEngine = () => `engine-${newId()}`;
	const current = async (engine: string, realm_id = "") => (await engines.config(engine, realm_id, "active"))?.id;
	const stateOf = async ({ id }: EngineConfigRow) => (await engines.configById(id))?.state;

	async function set(given: Partial<EngineConfigRow>): Promise<EngineConfigRow> {
		const row = aConfig(given);
		assert.equal(await engines.setConfig(row, anEvent({ type: "engine.config.set" })), "done");
		return row;
	}

	/** A realm, and a configuration of its own for an engine. */
	async function ownConfig() {
		const realm = await addRealm(store, owner);
		return { realm, config: await set({ engine: anEngine(), realm_id: realm.id }) };
	}

	/** Adds a lease made with a configuration. */
	const lend = (
		realm_id: string,
		{ id, engine, realm_id: config_realm_id }: EngineConfigRow,
		state: LeaseState = "active",
	) => addLease(store, state, aLease(realm_id, { engine, config_id: id, config_realm_id }));

	test("a configuration is read as it was written, by its scope and by its id, with one event", async () => {
		const start = await countEvents(store);
		const row = await set({ engine: anEngine() });
		assert.deepEqual(await engines.config(row.engine, "", "active"), row);
		assert.deepEqual(await engines.configById(row.id), row);
		assert.deepEqual(await eventsAfter(store, start), [["engine.config.set", {}]]);
		assert.equal(await engines.config(row.engine, "", "generated"), undefined);
		assert.equal(await engines.configById(newId()), undefined);
	});

	test("a new configuration takes the place of the one before, which nobody used, and of no other scope's or engine's", async () => {
		const realm = await addRealm(store, owner);
		const [engine, other] = [anEngine(), anEngine()];
		const own = await set({ engine, realm_id: realm.id });
		const foreign = await set({ engine: other });
		const [first, second] = [await set({ engine }), await set({ engine })];
		assert.deepEqual([await current(engine), await current(engine, realm.id)], [second.id, own.id]);
		assert.equal(await current(other), foreign.id);
		assert.equal(await engines.configById(first.id), undefined);
	});

	test("when two set a configuration at once, the second's is in place and the first's is gone", async () => {
		const engine = anEngine();
		const [first, second] = await Promise.all([set({ engine }), set({ engine })]);
		assert.deepEqual([await stateOf(first), await stateOf(second)], [undefined, "active"]);
	});

	test("a configuration is removed once, with one event, and only that of its scope", async () => {
		const { realm, config } = await ownConfig();
		const common = await set({ engine: config.engine });
		const start = await countEvents(store);
		const remove = (realm_id: string) => engines.removeConfig({ engine: config.engine, realm_id }, anEvent());
		assert.deepEqual([await remove(realm.id), await remove(realm.id), await remove("nowhere")], [true, false, false]);
		assert.equal(await countEvents(store), start + 1);
		assert.deepEqual([await current(config.engine, realm.id), await current(config.engine)], [undefined, common.id]);
		assert.equal(await engines.configById(config.id), undefined);
	});

	test("nothing is configured for a realm that is deleted or never was", async () => {
		const { realm, config } = await ownConfig();
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
		const start = await countEvents(store);
		for (const realm_id of [realm.id, "nowhere"])
			assert.equal(await engines.setConfig(aConfig({ engine: config.engine, realm_id }), anEvent()), "realm_gone");
		assert.equal(await engines.removeConfig({ engine: config.engine, realm_id: realm.id }, anEvent()), false);
		assert.equal(await countEvents(store), start);
	});

	/** Ways to close a lease. */
	const CLOSINGS: [what: string, state: LeaseState, close: (id: string) => Promise<boolean>][] = [
		["revoked", "revoking", (id) => leases.settle({ id, closed_at: MADE_AT }, anEvent())],
		["found never made", "uncertain", (id) => leases.settle({ id, closed_at: MADE_AT }, anEvent())],
		["aborted", "intent", (id) => leases.abort({ id, closed_at: MADE_AT }, anEvent())],
		["abandoned", "active", (id) => leases.abandon({ id, closed_at: MADE_AT }, anEvent())],
	];

	/** Ways to retire a configuration. */
	const RETIREMENTS: [what: string, retire: (config: EngineConfigRow) => Promise<unknown>][] = [
		["replaced", ({ engine, realm_id }) => set({ engine, realm_id })],
		["removed", ({ engine, realm_id }) => engines.removeConfig({ engine, realm_id }, anEvent())],
		["its realm's", ({ realm_id }) => store.realms.remove({ id: realm_id, deleted_at: MADE_AT }, anEvent())],
	];

	for (const [what, state, close] of CLOSINGS) {
		for (const [how, retire] of RETIREMENTS) {
			test(`a configuration that is ${how} stays until its last lease is ${what}, and not longer`, async () => {
				const { realm, config } = await ownConfig();
				const [first, last] = [await lend(realm.id, config), await lend(realm.id, config, state)];
				await retire(config);
				assert.equal(await stateOf(config), "retired");
				assert.equal(await leases.abandon({ id: first.id, closed_at: MADE_AT }, anEvent()), true);
				assert.equal(await stateOf(config), "retired", "one is left");
				assert.equal(await close(last.id), true);
				assert.equal(await engines.configById(config.id), undefined);
			});
		}
	}

	test("a configuration that is in place stays when its last lease is closed", async () => {
		const { realm, config } = await ownConfig();
		const { id } = await lend(realm.id, config);
		await leases.abandon({ id, closed_at: MADE_AT }, anEvent());
		assert.equal(await stateOf(config), "active");
	});

	test("a configuration of all realms stays while any realm has a lease of it", async () => {
		const [one, two] = [await addRealm(store, owner), await addRealm(store, owner)];
		const common = await set({ engine: anEngine() });
		const made = [await lend(one.id, common), await lend(two.id, common)];
		await store.realms.remove({ id: one.id, deleted_at: MADE_AT }, anEvent());
		assert.equal(await stateOf(common), "active");
		await set({ engine: common.engine });
		for (const { id } of made) {
			assert.equal(await stateOf(common), "retired");
			await leases.abandon({ id, closed_at: MADE_AT }, anEvent());
		}
		assert.equal(await stateOf(common), undefined);
	});

	/** Three configurations, each retired by the next one, and an open lease of each of the first two. */
	async function succession() {
		const { realm, config: first } = await ownConfig();
		const { engine } = first;
		const leases = [await lend(realm.id, first)];
		const second = await set({ engine, realm_id: realm.id });
		leases.push(await lend(realm.id, second));
		const unused = await set({ engine, realm_id: realm.id });
		await set({ engine, realm_id: realm.id });
		return { rows: [first, second, unused], leases };
	}

	test("a retired one that nobody used stays for the leases of those before it, and goes with the last of them", async () => {
		const { rows, leases: made } = await succession();
		const states = [
			[undefined, "retired", "retired"],
			[undefined, undefined, undefined],
		];
		for (const [at, { id }] of made.entries()) {
			await leases.abandon({ id, closed_at: MADE_AT }, anEvent());
			assert.deepEqual(await Promise.all(rows.map(stateOf)), states[at]);
		}
	});

	test("those that came later go with the last lease of the first one", async () => {
		const { rows, leases: made } = await succession();
		const states = [
			["retired", "retired", "retired"],
			[undefined, undefined, undefined],
		];
		for (const [at, { id }] of made.toReversed().entries()) {
			await leases.abandon({ id, closed_at: MADE_AT }, anEvent());
			assert.deepEqual(await Promise.all(rows.map(stateOf)), states[at]);
		}
	});

	test("in a new store, no engine served a realm before configurations named their realms", async () => {
		const { realm, config } = await ownConfig();
		assert.deepEqual([await engines.isFormer(config.engine, realm.id), await engines.formerRealms()], [false, []]);
	});

	test("the list is what is active or retired, and not what the server made for itself", async () => {
		const { realm, config } = await ownConfig();
		await lend(realm.id, config);
		const next = await set({ engine: config.engine, realm_id: realm.id });
		const made = aConfig({ engine: config.engine, state: "generated" });
		await engines.keepGenerated(made, anEvent());
		const listed = (await engines.configs()).filter(({ engine }) => engine === config.engine);
		assert.deepEqual(
			listed.map(({ id, state }) => [id, state]),
			[
				[config.id, "retired"],
				[next.id, "active"],
			],
		);
	});

	test("what the server made for itself is kept once, with one event, in addition to what people configure", async () => {
		const engine = anEngine();
		const made = [1, 2].map(() => aConfig({ engine, state: "generated" }));
		const start = await countEvents(store);
		assert.deepEqual(await Promise.all(made.map((row) => engines.keepGenerated(row, anEvent()))), [true, false]);
		assert.equal(await countEvents(store), start + 1);
		const config = await set({ engine });
		await engines.removeConfig({ engine, realm_id: "" }, anEvent());
		assert.deepEqual(await engines.config(engine, "", "generated"), made[0]);
		assert.equal(await engines.configById(config.id), undefined);
		assert.equal(await engines.keepGenerated(aConfig({ engine, state: "generated" }), anEvent()), false);
	});

	test("deleting a realm revokes what is active in it, leaves other realms' alone, and says how many", async () => {
		const [{ realm, config }, other] = [await ownConfig(), await ownConfig()];
		const common = await set({ engine: anEngine() });
		const made = [await lend(realm.id, config), await lend(realm.id, common), await lend(realm.id, common, "revoked")];
		const foreign = await lend(other.realm.id, other.config);
		const start = await countEvents(store);
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent({ type: "realm.deleted" }));
		assert.deepEqual(await eventsAfter(store, start), [["realm.deleted", { leases: 2 }]]);
		const states = await Promise.all([...made, foreign].map(async ({ id }) => (await leases.byId(id))?.state));
		assert.deepEqual(states, ["revoking", "revoking", "revoked", "active"]);
		assert.deepEqual([await stateOf(common), await stateOf(other.config)], ["active", "active"]);
	});

	test("deleting a realm drops its configurations that no lease needs, and purging it leaves those that one does", async () => {
		const { realm, config } = await ownConfig();
		const unused = await set({ engine: anEngine(), realm_id: realm.id });
		const { id } = await lend(realm.id, config);
		const start = await countEvents(store);
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent({ type: "realm.deleted" }));
		await store.realms.purge(purgeable(realm.id), anEvent({ type: "realm.purged" }));
		assert.deepEqual([await stateOf(unused), await stateOf(config)], [undefined, "retired"]);
		assert.deepEqual(await eventsAfter(store, start), [
			["realm.deleted", { leases: 1 }],
			["realm.purged", {}],
		]);
		assert.equal((await leases.byId(id))?.state, "revoking");
		assert.equal(await leases.settle({ id, closed_at: MADE_AT }, anEvent()), true);
		assert.equal(await stateOf(config), undefined);
	});
}
