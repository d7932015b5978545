import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { eventually, type Lease } from "../../harness/engine-world.ts";
import { ok } from "../../harness/expect.ts";
import type { Page } from "../../harness/resources.ts";
import type { KeyValueWorld } from "./keyvalue-world.ts";
import type { Steering } from "./steering.ts";
import type { Given } from "./walk.ts";

/** Seconds within which everything is in order again after the last fault. */
const SETTLED_S = 120;

/** Last error of a lease whose credential is not at its target. */
export const LOST = "it no longer exists at its target";

/**
 * Fails unless ledger and target agree once everything works again: every user at the target has an open lease, every open lease has its user
 * or is marked as lost, every credential given is in the ledger once, and the ledger's counts match its rows.
 */
export async function assertAccounted(
	world: KeyValueWorld,
	steering: Steering,
	given: readonly Given[],
): Promise<void> {
	// A missing credential is marked once it is older than a minute.
	await steering.pass(120);
	await eventually("nothing is under way", async () => isSettled(world), SETTLED_S);
	await eventually("whatever is missing is marked", async () => (await unmarked(world)).length === 0, SETTLED_S);
	await eventually("nobody is there without a lease", async () => (await leftOver(world)).length === 0, SETTLED_S);
	const names = given.map(({ name }) => name);
	assert.equal(new Set(names).size, names.length, "no name was given twice");
	const known = new Map((await listAll(world)).map(({ id, name }) => [id, name]));
	for (const { name, lease_id } of given) assert.equal(known.get(lease_id), name);
	await assertCounts(world);
	const { status } = ok(await world.client.get<{ status: string }>("/audit/verify", { token: world.admin.token }));
	assert.equal(status, "intact");
}

/** Fails unless everything can be revoked in the end. */
export async function assertRevocable(world: KeyValueWorld): Promise<void> {
	ok(await world.client.post("/leases/revoke", { engine: "keyvalue" }, { token: world.admin.token }));
	await eventually("no user is left", async () => (await world.redis.users()).length === 0);
	await eventually("no lease is open", async () => (await world.leases("active")).length === 0 && isSettled(world));
}

async function isSettled(world: KeyValueWorld): Promise<boolean> {
	const { intent, uncertain, revoking } = (await world.details()).leases.open;
	return intent === 0 && uncertain === 0 && revoking === 0;
}

async function listAll(world: KeyValueWorld, state?: string): Promise<Lease[]> {
	const all: Lease[] = [];
	for (let cursor: string | undefined = ""; cursor !== undefined; ) {
		const query: string = `limit=100${state === undefined ? "" : `&state=${state}`}${cursor === "" ? "" : `&cursor=${cursor}`}`;
		const path = `/realms/${world.slug}/leases?${query}`;
		const page: Page & { leases: Lease[] } = ok(await world.client.get(path, { token: world.admin.token }));
		all.push(...page.leases);
		cursor = page.pagination.next_cursor;
	}
	return all;
}

/** Returns open leases whose users are missing and that are not marked as lost. */
async function unmarked(world: KeyValueWorld): Promise<Lease[]> {
	const users = await world.redis.users();
	return (await listAll(world, "active")).filter(
		({ name, last_error }) => !users.includes(name) && last_error !== LOST,
	);
}

/** Returns users at the target without an open lease. */
async function leftOver(world: KeyValueWorld): Promise<string[]> {
	const users = await world.redis.users();
	const open = (await listAll(world, "active")).map(({ name }) => name);
	return users.filter((name) => !open.includes(name));
}

/** Stops the server to read its database, and compares the counts with the rows. */
async function assertCounts(world: KeyValueWorld): Promise<void> {
	await world.server.stop();
	const database = new DatabaseSync(join(world.server.data, "svc.db"), { readOnly: true });
	const group = "engine, config_realm_id, state";
	const counted = database.prepare(`SELECT ${group}, count FROM lease_count WHERE count > 0 ORDER BY ${group}`).all();
	const rows = database
		.prepare(`SELECT ${group}, count(*) AS count FROM lease GROUP BY ${group} ORDER BY ${group}`)
		.all();
	database.close();
	assert.deepEqual(counted, rows);
	await world.server.restart();
}
