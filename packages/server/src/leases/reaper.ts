import { setImmediate } from "node:timers/promises";
import { createBell } from "./bell.ts";
import { hasten, type Lane, oldestDue, refill } from "./lane.ts";
import type { Lease, Removal, TargetState } from "./model.ts";
import type { Lateness } from "./overdue.ts";
import type { Pause } from "./pause.ts";
import { type RemovalLimits, type RemovalNeeds, Removals } from "./removals.ts";
import type { Probe } from "./target-health.ts";

/** What the reaper needs. All that it knows of engines are the two functions that remove and probe. */
export interface ReaperNeeds extends RemovalNeeds {
	/** While leases rest, targets are looked at and nothing is taken back but what is asked for by name. */
	pause: Pick<Pause, "isPaused">;
	/** Looks whether a target is well. Trouble there is an outcome, not an exception. */
	probe(target: string): Promise<Probe>;
}

/** How much the reaper does at once, and how long it waits. */
export interface ReaperLimits extends RemovalLimits {
	/** Longest rest between two looks, in milliseconds. */
	rest_ms: number;
	/** How long stopping waits for what is under way, in milliseconds. */
	grace_ms: number;
}

const LIMITS: ReaperLimits = { width: 8, total: 64, rest_ms: 1000, grace_ms: 10_000 };

/** A target with open leases. */
interface TargetReport {
	target: string;
	state: TargetState;
	/** ISO 8601 UTC. */
	since: string;
	/** Why it is not healthy, for people; else empty. */
	message: string;
	/** Whether leases are due that have to wait until it is. */
	waiting: boolean;
}

/** Takes credentials back when they are due, for ever until each is verified absent. Design: §9 */
export interface Reaper {
	/** Begins. Intents that a server left behind are doubted before anything is done that is asked of the store later. */
	start(): void;
	/**
	 * Takes a credential back now, or joins the attempt that is under way. A target that is not well is not asked.
	 * @throws AppError when the store cannot write
	 */
	revokeNow(lease: Lease): Promise<Removal>;
	/** Something became due: looks at once. */
	wake(): void;
	/** Configurations have changed: every target is probed at once, and what was put off is tried again. */
	reconsider(): void;
	/** The targets with open leases. */
	targets(): TargetReport[];
	/** How late revocations are at this moment. */
	lateness(): Lateness;
	/** One look at what is due, and the end of everything that it leads to. The loop does not wait for that end. */
	runOnce(): Promise<void>;
	/** Begins nothing new, and waits for what is under way, but not for ever. */
	stop(): Promise<void>;
}

/**
 * Makes the reaper: one loop over an index, without timers, fair to all targets. Only leases under way, and the ids of those that come
 * next, are in memory.
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

	/** When the next lease is due; undefined also when the store cannot tell now. */
	async #nextDue(): Promise<number | undefined> {
		try {
			return await this.#needs.store.leases.nextDue();
		} catch {
			return undefined;
		}
	}

	/** Sleeps until the next lease is due. One that is due already and has to wait keeps nobody awake. */
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
			if (this.#needs.pause.isPaused()) continue;
			if (lane.queue.length > 0 || !lane.health.hasRoom(0) || this.#removals.isStalled) continue;
			await refill(this.#needs, lane, this.#removals.isRunning);
			// Reading answers at once: without a pause all targets would be read before anything else is done.
			if (lane.queue.length > 0) await setImmediate();
		}
		this.#removals.fill();
		await this.#removals.overdue.check();
	}

	/** The store does what it is asked in order: intents that begin after this call are not touched. */
	async #recover(): Promise<void> {
		this.#recovered ??= this.#needs.store.leases.recover({
			due_at: this.#needs.clock.now(),
			last_error: "the server ended in the middle of it",
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
		// What its engine ended over is not due again because it answers others.
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
			return { outcome: "unreachable", message: "asking it failed inside the server: its log says why" };
		});
		if (found.outcome !== "healthy" || isWell) return lane.health.probed(found, false);
		lane.health.probed(found, await hasten(this.#needs, lane));
		this.wake();
	}
}
