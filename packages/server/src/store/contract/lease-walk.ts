import assert from "node:assert/strict";
import { after, test } from "node:test";
import { LEASE_STATES, type Lease, OPEN_STATES } from "../../leases/model.ts";
import { aConfig, aLease, anEvent, MADE_AT, purgeable } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { seeded } from "../../testing/seeded.ts";
import type { OpenStore } from "./open-store.ts";

const STEPS = 1500;
const SEED = 20_300_102;
const LIMIT = 30;
const ENGINES = ["keyvalue", "documentdb"];

/** Tests that whatever happens to the ledger, its counts are those of its rows, and no row contradicts another. */
export async function leaseWalkContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { engines, leases } = store;
	const owner = await addAccount(store);

	const next = seeded(SEED);
	const pick = <T>(list: readonly T[]): T => list[next(list.length)] ?? assert.fail("an empty list");
	const realms: string[] = [];
	const ids: string[] = [];
	const event = anEvent();

	/** A day on which a lease is closed. */
	const someDay = () => `2030-01-0${1 + next(9)}T00:00:00.000Z`;
	const closing = () => ({ id: pick(ids), closed_at: someDay() });
	const due = () => ({ id: pick(ids), due_at: next(1000) });

	async function addSomeRealm(): Promise<void> {
		realms.push((await addRealm(store, owner)).id);
	}

	/** Begins a lease as the rules do: with the realm's own configuration, or the common one. */
	async function begin(): Promise<void> {
		const [realm_id, engine] = [pick(realms), pick(ENGINES)];
		const own = await engines.config(engine, realm_id, "active");
		const config = own ?? (await engines.config(engine, "", "active"));
		const { id: config_id = "", realm_id: config_realm_id = "" } = config ?? {};
		const lease = aLease(realm_id, { engine, config_id, config_realm_id, name: next(4) === 0 ? `n${next(50)}` : "" });
		if ((await leases.begin(lease, LIMIT, event)) === "done") ids.push(lease.id);
	}

	const activate = () =>
		leases.activate({ ...aLease("", { id: pick(ids) }), due_at: next(1000), payload: null }, event);

	/** Changes that can happen to the ledger; those that lead on are more frequent than those that end everything. */
	const CHANGES: (() => Promise<unknown>)[] = [
		...[begin, begin, begin, begin, activate, activate, activate],
		() => leases.doubt({ ...due(), last_error: "no answer" }),
		() => leases.abort(closing(), event),
		() => leases.revoke({ ...due(), reason: "expired" }, event),
		() => leases.revoke({ ...due(), reason: "requested" }, event),
		...[1, 2, 3].map(() => () => leases.settle(closing(), event)),
		() => leases.postpone({ ...due(), attempts: 1, last_error: "away" }),
		() =>
			next(3) === 0 ? leases.abandon(closing(), event) : leases.markLost({ id: pick(ids), last_error: "gone" }, event),
		() => leases.reopen(due(), event),
		() => leases.delivered({ ids: [pick(ids), pick(ids)], at: MADE_AT }),
		async () => (next(10) === 0 ? leases.recover({ due_at: 1, last_error: "cut off" }) : undefined),
		async () => (next(4) === 0 ? leases.forget(someDay()) : undefined),
		async () =>
			next(10) === 0
				? leases.revokeMany({ realm_id: pick(realms), user_id: undefined, engine: undefined, now_ms: 1 }, event)
				: undefined,
		() => engines.setConfig(aConfig({ engine: pick(ENGINES), realm_id: pick(["", "", ...realms]) }), event),
		() => engines.removeConfig({ engine: pick(ENGINES), realm_id: pick(["", ...realms]) }, event),
		async () => {
			if (next(6) > 0) return;
			await store.realms.remove({ id: pick(realms), deleted_at: MADE_AT }, event);
			await addSomeRealm();
		},
		async () => (next(4) === 0 ? store.realms.purge(purgeable(pick(realms)), event) : undefined),
	];

	const isOpen = ({ state }: Pick<Lease, "state">) => OPEN_STATES.includes(state);

	/** Counts that the store says, and those of its rows. */
	async function countsOf(rows: readonly Lease[]): Promise<[said: unknown[], found: unknown[]]> {
		const kinds = ENGINES.flatMap((engine) => LEASE_STATES.map((state) => ({ engine, state })));
		const counts = kinds.map((kind) => leases.count({ realm_id: "", ...kind }));
		const open = (await leases.counts()).filter(({ count }) => count > 0);
		const found = kinds.map(({ engine, state }) => ({
			engine,
			state,
			count: rows.filter((row) => row.engine === engine && row.state === state).length,
		}));
		const inOrder = kinds.flatMap(({ engine, state }) =>
			open.filter((one) => one.engine === engine && one.state === state),
		);
		return [
			[await Promise.all(counts), inOrder.map((one) => ({ ...one }))],
			[found.map(({ count }) => count), found.filter((one) => isOpen(one) && one.count > 0)],
		];
	}

	/** Finds rows that contradict others, by what is wrong with them. */
	async function contradictions(rows: readonly Lease[]): Promise<Record<string, unknown[]>> {
		const configs = await engines.configs();
		const live = new Set((await store.realms.named(realms)).map(({ id }) => id));
		const open = rows.filter(isOpen);
		const kept = new Set(configs.map(({ id }) => id));
		const needed = ({ engine, realm_id }: (typeof configs)[number], at: number) =>
			configs
				.slice(0, at + 1)
				.filter((one) => one.engine === engine && one.realm_id === realm_id)
				.some(({ id }) => open.some(({ config_id }) => config_id === id));
		return {
			"an open lease whose configuration is gone": open.filter(
				({ config_id, reason }) => config_id !== "" && !kept.has(config_id) && reason !== "zombie",
			),
			"a retired configuration that no open lease was made with, nor with one before it": configs.filter(
				(config, at) => config.state === "retired" && !needed(config, at),
			),
			"a configuration in place of a realm that is deleted": configs.filter(
				({ state, realm_id }) => state === "active" && realm_id !== "" && !live.has(realm_id),
			),
			"an active lease of a realm that is deleted": rows.filter(
				({ state, realm_id }) => state === "active" && !live.has(realm_id),
			),
			"a lease that is to be revoked without a reason": rows.filter(
				({ state, reason }) => ["revoking", "uncertain"].includes(state) && reason === "",
			),
			"a closed lease that is due, or still has what revoking it needed": rows.filter(
				(row) => !isOpen(row) && (row.payload !== null || row.due_at !== null || row.closed_at === null),
			),
			"an open lease that is never due": open.filter(({ due_at, closed_at }) => due_at === null || closed_at !== null),
		};
	}

	test("whatever happens to the ledger, its counts match its rows and its invariants hold", async () => {
		for (let count = 0; count < 3; count++) await addSomeRealm();
		await begin();
		const seen = new Set<string>();
		for (let step = 0; step < STEPS; step++) {
			await pick(CHANGES)();
			if (step % 5 > 0) continue;
			const rows = await leases.list({ realm_id: "", engine: "", state: "" }, "~", 10_000);
			const [said, found] = await countsOf(rows);
			assert.deepEqual(said, found, `step ${step}`);
			for (const [what, wrong] of Object.entries(await contradictions(rows)))
				assert.deepEqual(wrong, [], `step ${step}: ${what}`);
			for (const { state } of rows) seen.add(state);
		}
		assert.equal(seen.size, LEASE_STATES.length);
		assert.ok(ids.length > 100, `${ids.length} leases began`);
		assert.equal((await store.audit.verify([])).status, "intact");
	});
}
