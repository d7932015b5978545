import assert from "node:assert/strict";
import { type EngineWorld, eventually, type Lease } from "../../harness/engine-world.ts";
import { ok } from "../../harness/expect.ts";
import type { Point } from "./points.ts";
import type { Target } from "./target.ts";

const OPEN = ["intent", "active", "uncertain", "revoking"];

/** Tells whether a lease is between two looks at a credential that a create may still make. */
const isLookedAt = ({ state, last_error }: Lease) => state === "uncertain" && /may still land/.test(last_error);

/** Returns every lease of every realm. */
export async function allLeases({ client, admin: { token } }: EngineWorld): Promise<Lease[]> {
	const { leases } = ok(await client.get<{ leases: Lease[] }>("/leases?limit=100", { token }));
	assert.ok(leases.length < 100, "one page has them all");
	return leases;
}

/** Returns the open leases, and the names at the target that belong to none of them. */
async function look(world: EngineWorld, target: Target) {
	// The order matters: a credential removed in between is open in the first and absent from the second.
	const leases = await allLeases(world);
	const names = await target.names();
	const open = leases.filter(({ state }) => OPEN.includes(state));
	return { leases, names, open, strays: names.filter((name) => !open.some((lease) => lease.name === name)) };
}

/** Fails when the target has a credential without an open lease. */
export async function assertAccounted(world: EngineWorld, target: Target): Promise<void> {
	assert.deepEqual((await look(world, target)).strays, [], "every credential has an open lease");
}

/**
 * Waits until nothing is under way: every credential at the target has an open lease; each credential to be removed is gone and its lease
 * closed or, where a create may land late, between two looks; the lease in question is in its expected state.
 */
export async function assertSettled(
	world: EngineWorld,
	target: Target,
	id: string | undefined,
	ends: Point["ends"],
): Promise<void> {
	const mayWait = ends === "aborted" && !target.isFenced;
	let seen: unknown;
	const holds = async () => {
		const { leases, names, open, strays } = await look(world, target);
		seen = { id, ends, open, names };
		const lease = leases.find((one) => one.id === id);
		const isThere = lease !== undefined && names.includes(lease.name);
		const isEnded = lease === undefined ? ends === "none" : lease.state === ends || (mayWait && isLookedAt(lease));
		const isCalm = open.every((one) => one.state === "active" || (!target.isFenced && isLookedAt(one)));
		return isCalm && isEnded && strays.length === 0 && isThere === (ends === "active");
	};
	await eventually("everything is settled", holds).catch((error) => {
		throw new Error(`${error.message}: ${JSON.stringify(seen)}`);
	});
	await assertCounted(world, target);
	const { client, admin } = world;
	assert.equal(ok(await client.get<{ status: string }>("/audit/verify", { token: admin.token })).status, "intact");
}

/** Fails unless the counters behind the limits match the rows. */
async function assertCounted(world: EngineWorld, { type }: Target): Promise<void> {
	const { text } = await world.client.send("GET", "/metrics");
	const leases = await allLeases(world);
	for (const state of OPEN) {
		const series = new RegExp(`^svc_leases\\{engine="${type}",state="${state}"\\} (\\d+)$`, "m");
		const rows = leases.filter((lease) => lease.engine === type && lease.state === state);
		assert.equal(Number(series.exec(text)?.[1] ?? 0), rows.length, `leases that are ${state}`);
	}
}
