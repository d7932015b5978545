import type { EngineState } from "../engines/host/model.ts";
import { type LeaseState, type LeaseStore, OPEN_STATES, type TargetState } from "../leases/model.ts";

/** Dependencies of the health of engines and leases. */
export interface EngineHealthNeeds {
	store: { leases: Pick<LeaseStore, "counts" | "nextDue"> };
	host: { state(): EngineState[] };
	clock: { now(): number; lastJump(): { at: string; ahead_ms: number; is_holding: boolean } | undefined };
	pause: { isPaused(): boolean | Promise<boolean> };
	reaper: {
		targets(): { target: string; state: TargetState; since: string; message: string }[];
		lateness(): { overdue: number; stuck: number; oldest_ms: number };
	};
}

/** Health of engines, targets and leases. Anybody may see it: it contains no realm, name or address. */
export interface EngineHealth {
	engines: {
		type: string;
		status: "healthy" | "unhealthy";
		processes: number;
		breaker: "closed" | "open";
		/** Realms whose own requests made it fail so often that only they are refused. */
		refused_realms: number;
		message: string;
	}[];
	targets: { target: string; status: TargetState; since: string }[];
	leases: {
		open: Partial<Record<LeaseState, number>>;
		/** Failed leases, and targets at which leases wait, that are more than a minute late. */
		overdue: number;
		/** Those more than a quarter of an hour late. */
		stuck: number;
		oldest_overdue_seconds: number;
		/** True while leases are paused after a restore, until they are resumed. */
		paused: boolean;
	};
	clock: "steady" | "jumped";
}

/** Describes the health of engines, targets and leases. Design: §9, §12 */
export async function describeEngines(needs: EngineHealthNeeds): Promise<EngineHealth> {
	const open: Partial<Record<LeaseState, number>> = Object.fromEntries(OPEN_STATES.map((state) => [state, 0]));
	for (const { state, count } of await needs.store.leases.counts()) open[state] = (open[state] ?? 0) + count;
	const { overdue, stuck } = needs.reaper.lateness();
	return {
		engines: needs.host.state().map(({ type, processes, breaker, refused_realms, unavailable }) => ({
			type,
			status: breaker === "open" || unavailable !== undefined ? "unhealthy" : "healthy",
			processes,
			breaker,
			refused_realms,
			message: unavailable ?? "",
		})),
		targets: needs.reaper.targets().map(({ target, state, since }) => ({ target, status: state, since })),
		leases: {
			open,
			overdue,
			stuck,
			oldest_overdue_seconds: await oldestOverdue(needs),
			paused: await needs.pause.isPaused(),
		},
		clock: needs.clock.lastJump() === undefined ? "steady" : "jumped",
	};
}

/** Tells by how many seconds the longest overdue lease is late; a failed one counts however long it is postponed. */
export async function oldestOverdue({
	store,
	clock,
	reaper,
}: Pick<EngineHealthNeeds, "store" | "clock" | "reaper">): Promise<number> {
	const now_ms = clock.now();
	const due_at = (await store.leases.nextDue()) ?? now_ms;
	return Math.round(Math.max(0, now_ms - due_at, reaper.lateness().oldest_ms) / 1000);
}
