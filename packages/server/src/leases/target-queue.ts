import type { LeaseClock } from "./clock.ts";
import type { DueLease, LeaseStore } from "./model.ts";
import { LONGEST_PAUSE_MS, QUARANTINED } from "./revoke.ts";
import type { TargetHealth } from "./target-health.ts";

/** Leases of one target in one read: 0.3 ms, during which nothing else is answered. */
export const BATCH = 100;

/** State of one target in the reaper, and its queue of due leases. */
export interface TargetQueue {
	target: string;
	health: TargetHealth;
	/** Ids of due leases, the longest due first. */
	due: string[];
	/** True if more were due than were read. */
	has_more: boolean;
	/** Number of removals under way. */
	under_way: number;
	/** The probe under way. */
	probing: Promise<void> | undefined;
	/** True if it must be probed immediately, whatever its state. */
	is_doubted: boolean;
	/** True if due leases may not be tried yet. */
	is_waiting: boolean;
}

/** Dependencies of reading a target's leases. */
export interface TargetQueueNeeds {
	store: { leases: Pick<LeaseStore, "due" | "hasten"> };
	clock: Pick<LeaseClock, "now" | "admits" | "heldUntil">;
}

/** Makes the queue of a new target. */
export function createTargetQueue(target: string, health: TargetHealth): TargetQueue {
	return {
		target,
		health,
		due: [],
		has_more: false,
		under_way: 0,
		probing: undefined,
		is_doubted: false,
		is_waiting: false,
	};
}

/** Reads due leases into an empty queue, leaving out those under way. */
export async function refill(
	needs: TargetQueueNeeds,
	queue: TargetQueue,
	isUnderWay: (id: string) => boolean,
): Promise<void> {
	const { clock, store } = needs;
	const isReady = ({ id, state, due_at }: DueLease) =>
		!isUnderWay(id) && (state !== "active" || clock.admits(due_at ?? 0));
	let due = await store.leases.due(queue.target, clock.now(), BATCH);
	let ready = due.filter(isReady);
	if (due.length === BATCH && ready.length === 0) {
		// Leases held by a jump come before those that became due after it.
		due = await store.leases.due(queue.target, clock.now(), BATCH, clock.heldUntil());
		ready = due.filter(isReady);
	}
	queue.due = ready.map(({ id }) => id);
	queue.has_more = due.length === BATCH && ready.length > 0;
}

/** Finds the lease that waits longest at a target. */
export async function oldestDue(
	{ store, clock }: TargetQueueNeeds,
	{ target }: TargetQueue,
): Promise<DueLease | undefined> {
	const [oldest] = await store.leases.due(target, clock.now(), 1);
	return oldest;
}

/**
 * Makes leases due again that were postponed because their target was not well.
 * @returns whether any lease is due now
 */
export async function hasten(needs: TargetQueueNeeds, queue: TargetQueue): Promise<boolean> {
	const now_ms = needs.clock.now();
	const until_ms = now_ms + LONGEST_PAUSE_MS;
	const count = await needs.store.leases.hasten({ target: queue.target, now_ms, until_ms, but_for: QUARANTINED });
	return count > 0 || (await oldestDue(needs, queue)) !== undefined;
}
