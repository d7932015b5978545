import { setImmediate } from "node:timers/promises";
import { createBell } from "./bell.ts";
import { hasten, type Lane, oldestDue, refill } from "./lane.ts";
import type { Lease, Removal, TargetState } from "./model.ts";
import type { Lateness } from "./overdue.ts";
import type { Pause } from "./pause.ts";
import { type RemovalLimits, type RemovalNeeds, Removals } from "./removals.ts";
import type { Probe } from "./target-health.ts";

/** Dependencies of the reaper. It knows engines only through the two functions that remove and probe. */
export interface ReaperNeeds extends RemovalNeeds {
	/** While leases are paused, the reaper probes targets, but revokes only on request. */
	pause: Pick<Pause, "isPaused">;
	/** Checks whether a target is well. Trouble there is an outcome, not an exception. */
	probe(target: string): Promise<Probe>;
}

/** Limits of the reaper's concurrency and waits. */
export interface ReaperLimits extends RemovalLimits {
	/** Longest rest between two looks, in milliseconds. */
	rest_ms: number;
	/** Longest wait for work under way when stopping, in milliseconds. */
	grace_ms: number;
}

const LIMITS: ReaperLimits = { width: 8, total: 64, rest_ms: 1000, grace_ms: 10_000 };

/** A target with open leases. */
interface TargetReport {
	target: string;
	state: TargetState;
	/** ISO 8601 UTC. */
	since: string;
	/** Reason why it is not healthy, for people; else empty. */
	message: string;
	/** True if due leases must wait until it is healthy. */
	waiting: boolean;
}

/** Revokes credentials when they are due, and retries until each is verified absent. Design: §9 */
export interface Reaper {
	/** Starts the loop. Intents left behind by an earlier server become uncertain before the store handles any later request. */
	start(): void;
	/**
	 * Revokes a credential now, or joins the attempt under way. A target that is not well is not asked.
	 * @throws AppError when the store cannot write
	 */
	revokeNow(lease: Lease): Promise<Removal>;
	/** Looks immediately, because something became due. */
	wake(): void;
	/** Probes every target immediately and retries what was postponed, because configurations changed. */
	reconsider(): void;
	/** Lists the targets with open leases. */
	targets(): TargetReport[];
	/** Measures how late revocations are now. */
	lateness(): Lateness;
	/** Looks once at what is due and waits until all the work that follows is done. The loop itself does not wait. */
	runOnce(): Promise<void>;
	/** Starts nothing new, and waits a limited time for work under way. */
	stop(): Promise<void>;
}

/**
 * Makes the reaper: one loop over an index, without timers, fair to all targets. Memory holds only the leases under way and the ids of
 * those that come next.
 */
export function createReaper(needs: ReaperNeeds, limits: Partial<ReaperLimits> = {}): Reaper {
	return new Loop(needs, { ...LIMITS, ...limits });
}

class Loop implements Reaper {
	readonly #needs: ReaperNeeds;
	readonly #limits: ReaperLimits;
	readonly #removals: Removals;
	readonly #bell = createBell();
	readonly #stopping = new AbortController();
	#recovered: Promise<number> | undefined;
	#loop: Promise<void> | undefined;

	constructor(needs: ReaperNeeds, limits: ReaperLimits) {
		this.#needs = needs;
		this.#limits = limits;
		this.#removals = new Removals(needs, limits, () => this.wake());
	}

	start(): void {
		this.#loop ??= this.#run();
	}

	async stop(): Promise<void> {
		this.#stopping.abort();
		this.#removals.stop();
		this.wake();
		await this.#loop;
		const patience = createBell();
		void Promise.allSettled(this.#underWay()).then(patience.ring);
		await patience.sleep(this.#limits.grace_ms);
	}

	async runOnce(): Promise<void> {
		do {
			await this.#look();
			while (this.#underWay().length > 0) await Promise.allSettled(this.#underWay());
		} while (this.#bell.hasRung());
	}

	async revokeNow(lease: Lease): Promise<Removal> {
		const lane = this.#removals.lane(lease.target);
		const mayBegin = this.#removals.isRunning(lease.id) || lane.health.hasRoom(0);
		return mayBegin ? this.#removals.begin(lease.id, lane) : lane.health.refusal();
	}

	wake(): void {
		this.#bell.ring();
	}

	reconsider(): void {
		for (const lane of this.#lanes()) lane.is_doubted = true;
		this.wake();
	}

	targets(): TargetReport[] {
		return this.#lanes().map(({ target, health: { state, since, message }, is_waiting: waiting }) => ({
			target,
			state,
			since,
			message,
			waiting,
		}));
	}

	lateness(): Lateness {
		return this.#removals.overdue.lateness();
	}

	#lanes(): Lane[] {
		return [...this.#removals.lanes.values()];
	}

	#underWay(): Promise<unknown>[] {
		return [...this.#removals.running, ...this.#lanes().flatMap(({ probing }) => probing ?? [])];
	}

	async #run(): Promise<void> {
		while (!this.#stopping.signal.aborted) {
			await this.#look().catch((error) => this.#removals.stall(error));
			await this.#rest();
		}
	}

	/** Reads when the next lease is due; undefined also when the store cannot tell now. */
	async #nextDue(): Promise<number | undefined> {
		try {
			return await this.#needs.store.leases.nextDue();
		} catch {
			return undefined;
		}
	}

	/** Sleeps until the next lease is due. A lease that is due already and must wait does not shorten the sleep. */
	async #rest(): Promise<void> {
		const { rest_ms } = this.#limits;
		const next_ms = await this.#nextDue();
		const left_ms = (next_ms ?? 0) - this.#needs.clock.now();
		await this.#bell.sleep(left_ms > 0 ? Math.min(left_ms, rest_ms) : rest_ms);
	}

	async #look(): Promise<void> {
		this.#bell.answer();
		await this.#recover();
		await this.#needs.clock.tick();
		await this.#meetTargets();
		for (const lane of this.#lanes()) {
			if (lane.probing === undefined && (lane.is_doubted || lane.health.isProbeDue())) this.#probe(lane);
			await this.#noteWaiting(lane);
			if (this.#needs.pause.isPaused) continue;
			if (lane.queue.length > 0 || !lane.health.hasRoom(0) || this.#removals.isStalled) continue;
			await refill(this.#needs, lane, this.#removals.isRunning);
			// The store answers synchronously: without a pause the loop would read all targets before anything else runs.
			if (lane.queue.length > 0) await setImmediate();
		}
		this.#removals.fill();
		await this.#removals.overdue.check();
	}

	/** Doubts intents of an earlier server. The store handles requests in order, so intents that begin after this call stay untouched. */
	async #recover(): Promise<void> {
		this.#recovered ??= this.#needs.store.leases.recover({
			due_at: this.#needs.clock.now(),
			last_error: "the server stopped before it was finished",
		});
		await this.#recovered.catch((error) => {
			this.#recovered = undefined;
			throw error;
		});
	}

	/** Learns which targets have open leases, and forgets those that have none. */
	async #meetTargets(): Promise<void> {
		const open = new Set(await this.#needs.store.leases.openTargets());
		for (const target of open) this.#removals.lane(target);
		for (const { target, under_way, probing } of this.#lanes()) {
			if (open.has(target) || under_way > 0 || probing !== undefined) continue;
			this.#removals.lanes.delete(target);
			this.#removals.overdue.forget(target);
		}
	}

	async #noteWaiting(lane: Lane): Promise<void> {
		const { target, health } = lane;
		const { overdue } = this.#removals;
		const oldest = health.state === "healthy" ? undefined : await oldestDue(this.#needs, lane);
		lane.is_waiting = oldest !== undefined;
		if (oldest === undefined) return overdue.forget(target);
		if (!health.hasRoom(0)) lane.queue = [];
		const since_ms = oldest.due_at || this.#needs.clock.now();
		const data = { engine: oldest.engine, target, state: health.state };
		overdue.watch(target, since_ms, { type: "lease.revoke_failed", actor: "system", realm_id: "", realm: "", data });
	}

	#probe(lane: Lane): void {
		// Leases over which the engine ended do not become due just because the target answers others.
		const isWell = !lane.is_doubted && lane.health.isSuspected;
		lane.is_doubted = false;
		lane.probing = this.#ask(lane, isWell)
			.catch((error) => this.#removals.stall(error))
			.finally(() => {
				lane.probing = undefined;
			});
	}

	async #ask(lane: Lane, isWell: boolean): Promise<void> {
		const { probe, log } = this.#needs;
		const found = await probe(lane.target).catch((error: unknown): Probe => {
			log("error", "lease.probe.failed", { error });
			return { outcome: "unreachable", message: "the check failed inside the server: see its log" };
		});
		if (found.outcome !== "healthy" || isWell) return lane.health.probed(found, false);
		lane.health.probed(found, await hasten(this.#needs, lane));
		this.wake();
	}
}
