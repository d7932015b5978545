import type { Log } from "../log.ts";
import { madeAtMs, type System } from "../system.ts";
import type { LeaseClock } from "./clock.ts";
import { leaseEvent } from "./events.ts";
import type { Lease, LeaseStore, Removal } from "./model.ts";

/** Dependencies of revoking one credential. */
export interface RevokeNeeds {
	store: { leases: Pick<LeaseStore, "byId" | "doubt" | "revoke" | "settle" | "postpone"> };
	system: Pick<System, "now" | "randomBytes">;
	log: Log;
	clock: Pick<LeaseClock, "now">;
	/** Removes the credential at its target and checks that it is gone. An error at the target is an outcome, not an exception. */
	remove(lease: Lease): Promise<Removal>;
}

/** A lease as it was when its removal began, and the result. */
export interface Attempt {
	lease: Lease;
	removal: Removal;
}

/** Longest pause between two attempts, in milliseconds; the first is at most a second, and each limit is twice the one before. */
export const LONGEST_PAUSE_MS = 5 * 60 * 1000;
const FIRST_PAUSE_MS = 1000;

/** Pauses between checks for a credential that a create may still make, in milliseconds: checks at 0 s, 5 s, 30 s, 2, 10 and 20 minutes. */
const QUARANTINE_MS: readonly number[] = [5_000, 25_000, 90_000, 480_000, 600_000];

/** Sum of these pauses: a create sent longer ago can no longer take effect. */
const LANDING_MS = QUARANTINE_MS.reduce((sum, pause_ms) => sum + pause_ms);

/** Highest number of attempts that is counted. Another program may have written any number. */
const MOST_ATTEMPTS = 1_000_000;

/** Marks a row between two of these checks: its `attempts` then counts checks. A failure in between restarts them. */
export const QUARANTINED = "it is absent, but a create that was sent may still land";

/** Characters kept of a message. */
const MAX_MESSAGE = 500;

/** Tells whether the lease waits for its next check rather than for an unhealthy target. */
function isQuarantined({ state, last_error }: Pick<Lease, "state" | "last_error">): boolean {
	return state === "uncertain" && last_error === QUARANTINED;
}

/**
 * Revokes a credential: records that it must go, removes it at its target, and closes its lease once it is certainly absent, or schedules the next
 * attempt. An interruption after any step is safe: call it again. It never abandons a lease.
 * @returns undefined when there is nothing to revoke
 * Design: §9
 */
export async function revokeCredential(needs: RevokeNeeds, id: string): Promise<Attempt | undefined> {
	const lease = await claim(needs, id);
	if (lease === undefined) return undefined;
	const removal = await needs.remove(lease).catch((error: unknown): Removal => {
		needs.log("error", "lease.remove.failed", { error });
		return { outcome: "unreachable", message: "removing it failed inside the server: see its log" };
	});
	if ("message" in removal) await retry(needs, lease, removal.message);
	else if (removal.outcome === "unproven") await quarantine(needs, lease);
	else await settle(needs, lease);
	return { lease, removal };
}

/** Records that the credential must go: from here on nobody treats the lease as live. */
async function claim({ store, system, clock }: RevokeNeeds, id: string): Promise<Lease | undefined> {
	const lease = await store.leases.byId(id);
	const now_ms = clock.now();
	if (lease?.state === "intent") {
		const last_error = "the engine did not report in time whether it was made";
		if (await store.leases.doubt({ id, due_at: now_ms, last_error }))
			return { ...lease, state: "uncertain", reason: "uncertain", due_at: now_ms, last_error };
	} else if (lease?.state === "active") {
		const due = (lease.due_at ?? now_ms) < now_ms ? {} : { due_at: now_ms };
		const event = leaseEvent(system, "lease.revoking", lease, { reason: "expired" });
		if ((await store.leases.revoke({ id, reason: "expired", ...due }, event)) === "active")
			return { ...lease, state: "revoking", reason: "expired", ...due };
	} else {
		return lease?.due_at === null ? undefined : lease;
	}
	// Another caller was faster.
	const claimed = await store.leases.byId(id);
	return claimed?.state === "revoking" || claimed?.state === "uncertain" ? claimed : undefined;
}

async function settle({ store, system }: RevokeNeeds, lease: Lease): Promise<void> {
	const { id, state, reason } = lease;
	const event = leaseEvent(system, state === "uncertain" ? "lease.aborted" : "lease.revoked", lease, { reason });
	await store.leases.settle({ id, closed_at: event.timestamp }, event);
}

async function quarantine(needs: RevokeNeeds, lease: Lease): Promise<void> {
	const checks = isQuarantined(lease) ? attemptsOf(lease) : 0;
	const now_ms = needs.clock.now();
	// No MAC covers the number of checks; one covers the id.
	const pause_ms = QUARANTINE_MS[checks] ?? Math.min(startOf(lease) + LANDING_MS - now_ms, LANDING_MS);
	if (!(pause_ms > 0)) return settle(needs, lease);
	const due_at = now_ms + pause_ms;
	await needs.store.leases.postpone({ id: lease.id, due_at, attempts: checks + 1, last_error: QUARANTINED });
}

/** Reads when a lease began from its id, a UUIDv7, in Unix milliseconds: a MAC covers it, and not `created_at`. */
export function startOf({ id }: Pick<Lease, "id">): number {
	return madeAtMs(id);
}

function attemptsOf({ attempts }: Pick<Lease, "attempts">): number {
	return Math.min(Math.max(attempts, 0), MOST_ATTEMPTS);
}

/** Schedules a retry after a random pause whose limit doubles each time, so that leases that failed together do not return together. */
async function retry({ store, system, clock }: RevokeNeeds, lease: Lease, message: string): Promise<void> {
	const failures = isQuarantined(lease) ? 0 : attemptsOf(lease);
	const longest_ms = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
	const share = system.randomBytes(4).readUInt32BE() / 2 ** 32;
	await store.leases.postpone({
		id: lease.id,
		due_at: clock.now() + Math.floor(share * longest_ms),
		attempts: failures + 1,
		last_error: message.slice(0, MAX_MESSAGE),
	});
}
