import { setImmediate } from "node:timers/promises";
import { type AuditStore, systemEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { System } from "../system.ts";
import type { LeaseClock } from "./clock.ts";
import { leaseEvent } from "./events.ts";
import type { Lease, LeaseState, LeaseStore, Removal } from "./model.ts";
import { startOf } from "./revoke.ts";

/** Dependencies of reconciling the ledger with a target. */
export interface ReconcileNeeds {
	store: {
		leases: Pick<LeaseStore, "byId" | "byNames" | "activeAt" | "reopen" | "markLost">;
		audit: Pick<AuditStore, "append">;
	};
	system: Pick<System, "now" | "uptimeMs">;
	log: Log;
	clock: Pick<LeaseClock, "now">;
	/** Ends the reconciliation after the current chunk. */
	stopping: AbortSignal;
}

/** A target, or one scope of it, whose managed names can be listed. */
export interface SweepTarget {
	target: string;
	/** Authentication database or namespace; empty for none. */
	scope: string;
	/** True if nobody else makes managed names there. */
	exclusive: boolean;
	/** @returns undefined when the target is away or cannot list */
	list(): Promise<string[] | undefined>;
	/** Removes a name that no lease knows. If undefined, such names stay. */
	remove?(name: string): Promise<Removal>;
}

/** A managed name that no lease knows. */
interface Orphan {
	/** Uptime when it was first seen. */
	seen_at: number;
	is_removing: boolean;
}

/** The orphans of each target and scope, kept in memory: each is reported once per start. */
export type Orphans = Map<string, Map<string, Orphan>>;

/** Names in one lookup. */
const CHUNK = 500;

/** Milliseconds after which an orphan of an exclusive target is removed when it is seen again. */
const ORPHAN_MS = 15 * 60 * 1000;

/** Milliseconds: a younger lease is never missing, because a target may list it late. */
const YOUNG_MS = 60_000;

const LOST = "it no longer exists at its target";

const CLOSED: readonly LeaseState[] = ["revoked", "aborted", "abandoned"];

type Row = Pick<Lease, "id" | "name">;

/** Tells whether a lease may have had a credential: a refused create made nothing, so one of its name comes from elsewhere. */
const hadCredential = ({ state, reason }: Pick<Lease, "state" | "reason">) => state !== "aborted" || reason !== "";

type Scope = Pick<SweepTarget, "target" | "scope">;

/** Builds the key of a target and scope among the orphans. */
export function keyOf({ target, scope }: Scope): string {
	return JSON.stringify([target, scope]);
}

/**
 * Reconciles the ledger with the managed names at a target. Closed leases whose names are there are reopened; active ones whose names are
 * missing are marked; names that no lease knows are reported, and removed only where nobody else makes such names.
 * @param all every target: some may be other addresses of this one
 * @returns the number of leases reopened
 */
export async function reconcileTarget(
	needs: ReconcileNeeds,
	at: SweepTarget,
	all: readonly Scope[],
	orphans: Orphans,
): Promise<number> {
	const names = await at.list();
	if (names === undefined) return 0;
	const present = new Set(names);
	const { closed, unknown } = await lookUp(needs, at, present);
	await meetOrphans(needs, at, await withoutOurs(needs, at, all, unknown), orphans);
	const missing = await findMissing(needs, at, present);
	if (closed.length + missing.length === 0) return 0;
	// Leases may have begun and ended during the first list. The second list is newer than what was read from the ledger.
	const again = await at.list();
	if (again === undefined) return 0;
	const seen = new Set(again);
	const lost = missing.filter(({ name }) => !seen.has(name));
	await inChunks(needs, lost, (chunk) => Promise.all(chunk.map((lease) => markLost(needs, lease))));
	const zombies = closed.filter(({ name }) => seen.has(name));
	await inChunks(needs, zombies, (chunk) => Promise.all(chunk.map((row) => reopen(needs, row))));
	return zombies.length;
}

/** Looks up every name: those of closed leases, and those that no lease knows. */
async function lookUp(
	needs: ReconcileNeeds,
	at: SweepTarget,
	present: Set<string>,
): Promise<{ closed: Row[]; unknown: string[] }> {
	const closed: Row[] = [];
	const unknown: string[] = [];
	await inChunks(needs, [...present], async (chunk) => {
		const rows = (await needs.store.leases.byNames(at.target, at.scope, chunk)).filter(hadCredential);
		closed.push(...rows.filter(({ state }) => CLOSED.includes(state)));
		const known = new Set(rows.map(({ name }) => name));
		unknown.push(...chunk.filter((name) => !known.has(name)));
	});
	return { closed, unknown };
}

/**
 * Leaves out names that belong to open leases at another target of the same engine: a system may have several addresses, and a
 * configuration may have moved from one to another.
 */
async function withoutOurs(
	needs: ReconcileNeeds,
	at: Scope,
	all: readonly Scope[],
	unknown: string[],
): Promise<string[]> {
	const ours = new Set<string>();
	const engineOf = ({ target }: Scope) => target.split(":")[0];
	const others = all.filter((other) => other.target !== at.target && other.scope === at.scope);
	for (const { target, scope } of others.filter((other) => engineOf(other) === engineOf(at))) {
		await inChunks(needs, unknown, async (chunk) => {
			const rows = await needs.store.leases.byNames(target, scope, chunk);
			for (const { name, state } of rows) if (!CLOSED.includes(state)) ours.add(name);
		});
	}
	return unknown.filter((name) => !ours.has(name));
}

/** Reports new names and, where they can be nobody else's, removes those known for long enough. */
async function meetOrphans(needs: ReconcileNeeds, at: SweepTarget, names: string[], orphans: Orphans): Promise<void> {
	const uptime_ms = needs.system.uptimeMs();
	const before = orphans.get(keyOf(at));
	const found = new Map(names.map((name) => [name, before?.get(name) ?? { seen_at: uptime_ms, is_removing: false }]));
	const fresh = names.filter((name) => before?.has(name) !== true);
	if (fresh.length > 0) needs.log("warn", "lease.orphans", { count: fresh.length });
	await inChunks(needs, fresh, (chunk) => Promise.all(chunk.map((name) => reportOrphan(needs, at, name, false))));
	orphans.set(keyOf(at), found);
	if (!at.exclusive) return;
	const old = [...found].filter(([, { seen_at }]) => uptime_ms - seen_at >= ORPHAN_MS);
	await inChunks(needs, old, async (chunk) => {
		for (const [name, orphan] of chunk) await removeOrphan(needs, at, name, orphan);
	});
}

async function removeOrphan(needs: ReconcileNeeds, at: SweepTarget, name: string, orphan: Orphan): Promise<void> {
	if (at.remove === undefined || needs.stopping.aborted) return;
	if (!orphan.is_removing) await reportOrphan(needs, at, name, true);
	orphan.is_removing = true;
	const removal = await at.remove(name);
	if ("message" in removal) needs.log("warn", "lease.orphan.kept", { message: removal.message });
}

async function reportOrphan(
	{ store, system }: ReconcileNeeds,
	{ target, scope }: SweepTarget,
	name: string,
	is_removed: boolean,
): Promise<void> {
	const data = { target, scope, name, is_removed };
	await store.audit.append(systemEvent(system.now(), "lease.orphan", undefined, data));
}

/** Finds active leases whose names are not at the target. */
async function findMissing(needs: ReconcileNeeds, at: SweepTarget, present: Set<string>): Promise<Lease[]> {
	const grown_ms = needs.system.now().getTime() - YOUNG_MS;
	const isMissing = ({ id, scope, name, last_error }: Lease) =>
		scope === at.scope && name !== "" && !present.has(name) && startOf({ id }) < grown_ms && last_error !== LOST;
	const missing: Lease[] = [];
	for (let after: Lease | undefined; !needs.stopping.aborted; ) {
		const page = await needs.store.leases.activeAt(at.target, after, CHUNK);
		missing.push(...page.filter(isMissing));
		after = page.at(-1);
		if (page.length < CHUNK) break;
		await setImmediate();
	}
	return missing;
}

async function markLost({ store, system }: ReconcileNeeds, lease: Lease): Promise<void> {
	await store.leases.markLost({ id: lease.id, last_error: LOST }, leaseEvent(system, "lease.lost", lease));
}

async function reopen({ store, system, clock }: ReconcileNeeds, { id }: Row): Promise<void> {
	const lease = await store.leases.byId(id);
	if (lease === undefined) return;
	await store.leases.reopen({ id, due_at: clock.now() }, leaseEvent(system, "lease.zombie", lease));
}

/** Yields to other work between two chunks: a target may hold 80,000 names. */
async function inChunks<Item>(
	{ stopping }: Pick<ReconcileNeeds, "stopping">,
	items: Item[],
	work: (chunk: Item[]) => Promise<unknown>,
): Promise<void> {
	for (let start = 0; start < items.length && !stopping.aborted; start += CHUNK) {
		await work(items.slice(start, start + CHUNK));
		await setImmediate();
	}
}
