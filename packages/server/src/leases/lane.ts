import type { LeaseClock } from "./clock.ts";
import type { DueLease, LeaseStore } from "./model.ts";
import { LONGEST_PAUSE_MS, QUARANTINED } from "./take-back.ts";
import type { TargetHealth } from "./target-health.ts";

/** Leases of one target in one read: 0.3 ms, during which nothing else is answered. */
export const BATCH = 100;

/** State of one target in the reaper. */
export interface Lane {
	target: string;
	health: TargetHealth;
	/** Ids of due leases, the longest due first. */
	queue: string[];
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
export interface LaneNeeds {
	store: { leases: Pick<LeaseStore, "due" | "hasten"> };
	clock: Pick<LeaseClock, "now" | "admits" | "heldUntil">;
}

/** Makes the lane of a new target. */
export function createLane(target: string, health: TargetHealth): Lane {
	return {
		target,
		health,
		queue: [],
		has_more: false,
		under_way: 0,
		probing: undefined,
		is_doubted: false,
		is_waiting: false,
	};
}

/** Reads due leases into an empty queue, leaving out those under way. */
export async function refill(needs: LaneNeeds, lane: Lane, isUnderWay: (id: string) => boolean): Promise<void> {
	const { clock, store } = needs;
	const isReady = ({ id, state, due_at }: DueLease) =>
		!isUnderWay(id) && (state !== "active" || clock.admits(due_at ?? 0));
	let due = await store.leases.due(lane.target, clock.now(), BATCH);
	let ready = due.filter(isReady);
	if (due.length === BATCH && ready.length === 0) {
		// Leases held by a jump come before those that became due after it.
		due = await store.leases.due(lane.target, clock.now(), BATCH, clock.heldUntil());
		ready = due.filter(isReady);
	}
	lane.queue = ready.map(({ id }) => id);
	lane.has_more = due.length === BATCH && ready.length > 0;
}

/** Finds the lease that waits longest at a target. */
export async function oldestDue({ store, clock }: LaneNeeds, { target }: Lane): Promise<DueLease | undefined> {
	const [oldest] = await store.leases.due(target, clock.now(), 1);
	return oldest;
}

/**
 * Makes leases due again that were postponed because their target was not well.
 * @returns whether any lease is due now
 */
export async function hasten(needs: LaneNeeds, lane: Lane): Promise<boolean> {
	const now_ms = needs.clock.now();
	const until_ms = now_ms + LONGEST_PAUSE_MS;
	const count = await needs.store.leases.hasten({ target: lane.target, now_ms, until_ms, but_for: QUARANTINED });
	return count > 0 || (await oldestDue(needs, lane)) !== undefined;
}
