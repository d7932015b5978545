import { setImmediate } from "node:timers/promises";
import type { Lease, Removal, TargetState } from "./model.ts";
import type { Lateness } from "./overdue.ts";
import type { Pause } from "./pause.ts";
import { type RemovalLimits, type RemovalNeeds, Removals } from "./removals.ts";
import type { Probe } from "./target-health.ts";
import { hasten, oldestDue, refill, type TargetQueue } from "./target-queue.ts";
import { createWakeup } from "./wakeup.ts";

/** Dependencies of the reaper. It knows engines only through the two functions that remove and probe. */
export interface ReaperNeeds extends RemovalNeeds {
	/** While leases are paused, the reaper probes targets, but revokes only on request. */
	pause: Pick<Pause, "isPaused">;
	/** Checks whether a target is well. An error there is an outcome, not an exception. */
	probe(target: string): Promise<Probe>;
}

/** Limits of the reaper's concurrency and waits. */
export interface ReaperLimits extends RemovalLimits {
	/** Longest rest between two passes, in milliseconds. */
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
	readonly #wakeup = createWakeup();
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
		const grace = createWakeup();
		void Promise.allSettled(this.#underWay()).then(grace.wake);
		await grace.sleep(this.#limits.grace_ms);
	}

	async runOnce(): Promise<void> {
		do {
			await this.#pass();
			while (this.#underWay().length > 0) await Promise.allSettled(this.#underWay());
		} while (this.#wakeup.isPending());
	}

	async revokeNow(lease: Lease): Promise<Removal> {
		const queue = this.#removals.queueOf(lease.target);
		const mayBegin = this.#removals.isRunning(lease.id) || queue.health.hasRoom(0);
		return mayBegin ? this.#removals.begin(lease.id, queue) : queue.health.refusal();
	}

	wake(): void {
		this.#wakeup.wake();
	}

	reconsider(): void {
		for (const queue of this.#queues()) queue.is_doubted = true;
		this.wake();
	}

	targets(): TargetReport[] {
		return this.#queues().map(({ target, health: { state, since, message }, is_waiting: waiting }) => ({
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

	#queues(): TargetQueue[] {
		return [...this.#removals.queues.values()];
	}

	#underWay(): Promise<unknown>[] {
		return [...this.#removals.running, ...this.#queues().flatMap(({ probing }) => probing ?? [])];
	}

	async #run(): Promise<void> {
		while (!this.#stopping.signal.aborted) {
			await this.#pass().catch((error) => this.#removals.stall(error));
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
		await this.#wakeup.sleep(left_ms > 0 ? Math.min(left_ms, rest_ms) : rest_ms);
	}

	async #pass(): Promise<void> {
		this.#wakeup.clear();
		await this.#recover();
		await this.#needs.clock.tick();
		await this.#meetTargets();
		const isPaused = await this.#needs.pause.isPaused();
		for (const queue of this.#queues()) {
			if (queue.probing === undefined && (queue.is_doubted || queue.health.isProbeDue())) this.#probe(queue);
			await this.#noteWaiting(queue);
			if (isPaused) continue;
			if (queue.due.length > 0 || !queue.health.hasRoom(0) || this.#removals.isStalled) continue;
			await refill(this.#needs, queue, this.#removals.isRunning);
			// The store answers synchronously: without a pause the loop would read all targets before anything else runs.
			if (queue.due.length > 0) await setImmediate();
		}
		this.#removals.fill();
		await this.#removals.overdue.check();
	}

	/**
	 * Doubts intents of an earlier server. The store handles requests in order, so intents that begin after this call stay untouched. Where servers share
	 * the store, they may be those of another one: they are doubted when they are due.
	 */
	async #recover(): Promise<void> {
		if (this.#needs.store.claims.isShared) return;
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
		for (const target of open) this.#removals.queueOf(target);
		for (const { target, under_way, probing } of this.#queues()) {
			if (open.has(target) || under_way > 0 || probing !== undefined) continue;
			this.#removals.queues.delete(target);
			this.#removals.overdue.forget(target);
		}
	}

	async #noteWaiting(queue: TargetQueue): Promise<void> {
		const { target, health } = queue;
		const { overdue } = this.#removals;
		const oldest = health.state === "healthy" ? undefined : await oldestDue(this.#needs, queue);
		queue.is_waiting = oldest !== undefined;
		if (oldest === undefined) return overdue.forget(target);
		if (!health.hasRoom(0)) queue.due = [];
		const since_ms = oldest.due_at || this.#needs.clock.now();
		const data = { engine: oldest.engine, target, state: health.state };
		overdue.watch(target, target, since_ms, {
			type: "lease.revoke_failed",
			actor: "system",
			realm_id: "",
			realm: "",
			data,
		});
	}

	#probe(queue: TargetQueue): void {
		// Leases over which the engine ended do not become due just because the target answers others.
		const isWell = !queue.is_doubted && queue.health.isSuspected;
		queue.is_doubted = false;
		queue.probing = this.#ask(queue, isWell)
			.catch((error) => this.#removals.stall(error))
			.finally(() => {
				queue.probing = undefined;
			});
	}

	async #ask(queue: TargetQueue, isWell: boolean): Promise<void> {
		const { probe, log } = this.#needs;
		const found = await probe(queue.target).catch((error: unknown): Probe => {
			log("error", "lease.probe.failed", { error });
			return { outcome: "unreachable", message: "the check failed inside the server: see its log" };
		});
		if (found.outcome !== "healthy" || isWell) return queue.health.probed(found, false);
		queue.health.probed(found, await hasten(this.#needs, queue));
		this.wake();
	}
}
