import type { LeaseClock } from "./clock.ts";
import type { DueLease, LeaseStore } from "./model.ts";
import { LONGEST_PAUSE_MS, QUARANTINED } from "./take-back.ts";
import type { TargetHealth } from "./target-health.ts";

/** Leases of one target that are read at once: 0.3 ms, during which nothing else is answered. */
export const BATCH = 100;

/** What the reaper knows of one target. */
export interface Lane {
	target: string;
	health: TargetHealth;
	/** Ids of leases that are due, the longest due first. */
	queue: string[];
	/** Whether more were due than were read. */
	has_more: boolean;
	/** Removals that have begun and not ended. */
	under_way: number;
	/** The probe that is under way. */
	probing: Promise<void> | undefined;
	/** Whether it is to be probed at once, however it is. */
	is_doubted: boolean;
	/** Whether leases are due that may not be tried. */
	is_waiting: boolean;
}

/** What reading a target's leases needs. */
export interface LaneNeeds {
	store: { leases: Pick<LeaseStore, "due" | "hasten"> };
	clock: Pick<LeaseClock, "now" | "admits" | "heldUntil">;
}

/** Makes the lane of a target that nothing is known of. */
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

/** Reads what is due into an empty queue, beside what is under way. */
export async function refill(needs: LaneNeeds, lane: Lane, isUnderWay: (id: string) => boolean): Promise<void> {
	const { clock, store } = needs;
	const isReady = ({ id, state, due_at }: DueLease) =>
		!isUnderWay(id) && (state !== "active" || clock.admits(due_at ?? 0));
	let due = await store.leases.due(lane.target, clock.now(), BATCH);
	let ready = due.filter(isReady);
	if (due.length === BATCH && ready.length === 0) {
		// Those that a jump holds stand before what became due after it.
		due = await store.leases.due(lane.target, clock.now(), BATCH, clock.heldUntil());
		ready = due.filter(isReady);
	}
	lane.queue = ready.map(({ id }) => id);
	lane.has_more = due.length === BATCH && ready.length > 0;
}

/** The lease that waits longest at a target. */
export async function oldestDue({ store, clock }: LaneNeeds, { target }: Lane): Promise<DueLease | undefined> {
	const [oldest] = await store.leases.due(target, clock.now(), 1);
	return oldest;
}

/**
 * Makes leases due again that were put off because their target was not well.
 * @returns whether any lease is due now
 */
export async function hasten(needs: LaneNeeds, lane: Lane): Promise<boolean> {
	const now_ms = needs.clock.now();
	const until_ms = now_ms + LONGEST_PAUSE_MS;
	const count = await needs.store.leases.hasten({ target: lane.target, now_ms, until_ms, but_for: QUARANTINED });
	return count > 0 || (await oldestDue(needs, lane)) !== undefined;
}
