import assert from "node:assert/strict";
import { after, test } from "node:test";
import { aConfig, aLease, anEvent, MADE_AT } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { seeded } from "../../../testing/seeded.ts";
import { openTestStore } from "../../../testing/store.ts";
import { openReader } from "../open.ts";

const STEPS = 1500;
const SEED = 20_300_102;
const LIMIT = 30;

const { store, file } = await openTestStore({ after });
const { engines, leases } = store;
const reader = openReader(file);
after(() => void reader.close());
const owner = await addAccount(store);

const next = seeded(SEED);
const pick = <T>(list: readonly T[]): T => list[next(list.length)] ?? assert.fail("an empty list");
const ENGINES = ["keyvalue", "documentdb"];
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

const activate = () => leases.activate({ ...aLease("", { id: pick(ids) }), due_at: next(1000), payload: null }, event);

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
	async () => (next(4) === 0 ? store.realms.purge(pick(realms), event) : undefined),
];

const COUNTED = `SELECT engine, config_realm_id, state, count FROM lease_count WHERE count > 0 ORDER BY 1, 2, 3`;
const ROWS = `SELECT engine, config_realm_id, state, count(*) AS count FROM lease GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

/** Questions that must never find a row. */
const NEVER: Record<string, string> = {
	"an open lease whose configuration is gone": `SELECT id FROM lease WHERE due_at IS NOT NULL AND config_id <> ''
		AND NOT EXISTS (SELECT 1 FROM engine_config WHERE id = config_id) AND reason <> 'zombie'`,
	"a retired configuration that no open lease was made with, nor with one before it": `SELECT id FROM engine_config AS this
		WHERE state = 'retired' AND NOT EXISTS (SELECT 1 FROM lease JOIN engine_config AS made ON made.id = config_id
		WHERE due_at IS NOT NULL AND made.ordinal <= this.ordinal AND made.engine = this.engine AND made.realm_id = this.realm_id)`,
	"a configuration in place of a realm that is deleted": `SELECT id FROM engine_config WHERE state = 'active' AND realm_id <> ''
		AND NOT EXISTS (SELECT 1 FROM realm WHERE id = realm_id AND deleted_at IS NULL)`,
	"an active lease of a realm that is deleted": `SELECT id FROM lease WHERE state = 'active'
		AND NOT EXISTS (SELECT 1 FROM realm WHERE id = realm_id AND deleted_at IS NULL)`,
	"a lease that is to be taken back without a reason": `SELECT id FROM lease WHERE state IN ('revoking', 'uncertain') AND reason = ''`,
	"a closed lease that still has what revoking it needed": `SELECT id FROM lease WHERE due_at IS NULL AND payload IS NOT NULL`,
};

test("whatever happens to the ledger, its counts are those of its rows, and what must not be never is", async () => {
	for (let count = 0; count < 3; count++) await addSomeRealm();
	await begin();
	const seen = new Set<string>();
	for (let step = 0; step < STEPS; step++) {
		await pick(CHANGES)();
		const rows = reader.prepare(ROWS).all() as { state: string }[];
		assert.deepEqual(reader.prepare(COUNTED).all(), rows, `step ${step}`);
		for (const [what, question] of Object.entries(NEVER))
			assert.deepEqual(reader.prepare(question).all(), [], `step ${step}: ${what}`);
		for (const { state } of rows) seen.add(state);
	}
	assert.equal(seen.size, 7);
	assert.ok(ids.length > 100, `${ids.length} leases began`);
	assert.equal(reader.pragma("integrity_check", { simple: true }), "ok");
});
