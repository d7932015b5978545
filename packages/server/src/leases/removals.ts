import type { AuditStore } from "../audit/model.ts";
import type { System } from "../system.ts";
import { createBatches } from "./batches.ts";
import type { LeaseClock } from "./clock.ts";
import { leaseEvent } from "./events.ts";
import type { Lease, LeaseClaim, LeaseClaims, LeaseStore, Removal } from "./model.ts";
import { createOverdue, type Overdue } from "./overdue.ts";
import { type RevokeNeeds, revokeCredential, startOf } from "./revoke.ts";
import { createTargetHealth } from "./target-health.ts";
import { createTargetQueue, type TargetQueue } from "./target-queue.ts";

/** Dependencies of running removals. */
export interface RemovalNeeds extends RevokeNeeds {
	store: { leases: LeaseStore; claims: LeaseClaims; audit: Pick<AuditStore, "append"> };
	system: System;
	clock: LeaseClock;
	/** Receives the delay of each verified removal, in milliseconds. */
	onRevoked?(lag_ms: number): void;
}

/** Limits of concurrent removals: at one target, and in total. */
export interface RemovalLimits {
	width: number;
	total: number;
}

/** Concurrent writes of removals at the store: every other request to the store queues behind them. */
const WRITES = 8;

/** Milliseconds without new removals after the store fails, because it could not record them. */
const STALL_MS = 5000;

/** Answer while another server removes the credential. */
const ELSEWHERE: Removal = { outcome: "unreachable", message: "another server is revoking it" };

/** Outcome of a removal that did not begin because its claim may be over. */
const LATE: Removal = { outcome: "unreachable", message: "the server was stopped before it removed it" };

/** The removals under way, and those that come next. */
export class Removals {
	/** Queues by target; the one that has waited longest for its turn comes first. */
	readonly queues = new Map<string, TargetQueue>();
	/** Credentials that should be gone and are not. */
	readonly overdue: Overdue;
	readonly #needs: RemovalNeeds;
	readonly #limits: RemovalLimits;
	readonly #onDrained: () => void;
	/** Removals under way, by lease. */
	readonly #running = new Map<string, Promise<Removal>>();
	#stalledUntil = 0;

	/** @param onDrained called when a queue is empty and more is due */
	constructor(needs: RemovalNeeds, limits: RemovalLimits, onDrained: () => void) {
		this.#needs = { ...needs, store: { ...needs.store, leases: inBatches(needs.store.leases) } };
		this.#limits = limits;
		this.#onDrained = onDrained;
		this.overdue = createOverdue(needs);
	}

	/** True while nothing new begins because the store has failed. */
	get isStalled(): boolean {
		return this.#needs.system.uptimeMs() < this.#stalledUntil;
	}

	/** All removals under way. */
	get running(): Promise<Removal>[] {
		return [...this.#running.values()];
	}

	/** Tells whether a removal of that lease is under way. */
	readonly isRunning = (id: string): boolean => this.#running.has(id);

	/** Finds or makes the queue of a target; a new target counts as healthy. */
	queueOf(target: string): TargetQueue {
		const known = this.queues.get(target);
		if (known !== undefined) return known;
		const queue = createTargetQueue(target, createTargetHealth({ ...this.#needs, width: this.#limits.width }, target));
		this.queues.set(target, queue);
		return queue;
	}

	/** Begins queued removals, one target after the other, up to the limits. */
	fill(): void {
		while (this.#running.size < this.#limits.total) {
			const queue = this.queues
				.values()
				.find(({ due, health, under_way }) => due.length > 0 && health.hasRoom(under_way));
			const id = queue?.due.shift();
			if (queue === undefined || id === undefined) return;
			this.queues.delete(queue.target);
			this.queues.set(queue.target, queue);
			// A failure has stalled the removals and is in the log already.
			this.begin(id, queue).catch(() => undefined);
		}
	}

	/** Begins a removal regardless of limits, or joins the one under way. */
	begin(id: string, queue: TargetQueue): Promise<Removal> {
		const running = this.#running.get(id);
		if (running !== undefined) return running;
		queue.under_way++;
		queue.health.begin();
		const removal = this.#remove(id, queue).finally(() => {
			this.#running.delete(id);
			queue.under_way--;
			this.fill();
			if (queue.due.length > 0 || !queue.has_more) return;
			queue.has_more = false;
			this.#onDrained();
		});
		this.#running.set(id, removal);
		return removal;
	}

	/** Keeps new removals from beginning for a while. */
	stall(error: unknown): void {
		if (!this.isStalled) this.#needs.log("error", "lease.reaper.failed", { error });
		this.#pauseUntil(this.#needs.system.uptimeMs() + STALL_MS);
	}

	/** Keeps new removals from beginning, except those requested by name. */
	stop(): void {
		this.#pauseUntil(Number.POSITIVE_INFINITY);
	}

	#pauseUntil(uptime_ms: number): void {
		this.#stalledUntil = Math.max(this.#stalledUntil, uptime_ms);
		for (const queue of this.queues.values()) queue.due = [];
	}

	async #remove(id: string, queue: TargetQueue): Promise<Removal> {
		try {
			const claim = await this.#needs.store.claims.take(id);
			if (claim === undefined) return ELSEWHERE;
			return await this.#removeClaimed(id, queue, claim).finally(claim.release);
		} catch (error) {
			this.stall(error);
			throw error;
		}
	}

	async #removeClaimed(id: string, queue: TargetQueue, claim: LeaseClaim): Promise<Removal> {
		const remove = async (lease: Lease) => (claim.isLive() ? this.#needs.remove(lease) : LATE);
		const attempt = await revokeCredential({ ...this.#needs, remove }, id);
		if (attempt === undefined) return { outcome: "absent" };
		queue.health.end(attempt.removal);
		this.#note(attempt.lease, attempt.removal);
		return attempt.removal;
	}

	#note(lease: Lease, removal: Removal): void {
		const { clock, system, onRevoked } = this.#needs;
		const since_ms = this.overdue.since(lease.id) ?? sinceOf(lease, clock.now());
		if ("message" in removal) {
			const event = leaseEvent(system, "lease.revoke_failed", lease, { reason: lease.reason });
			this.overdue.watch(lease.id, lease.target, since_ms, event);
			return;
		}
		this.overdue.forget(lease.id);
		if (lease.state === "revoking") onRevoked?.(Math.max(0, clock.now() - since_ms));
	}
}

/** Wraps the ledger so that only few removals write at once, with rests in between. */
function inBatches(leases: LeaseStore): LeaseStore {
	const inBatch = createBatches(WRITES);
	return {
		...leases,
		doubt: (input) => inBatch(() => leases.doubt(input)),
		revoke: (input, event) => inBatch(() => leases.revoke(input, event)),
		settle: (input, event) => inBatch(() => leases.settle(input, event)),
		postpone: (input) => inBatch(() => leases.postpone(input)),
	};
}

/** Estimates when a credential should have been gone, by the lease clock: roughly for a row that was postponed or due immediately. */
function sinceOf({ id, reason, attempts, due_at, expires_at }: Lease, now_ms: number): number {
	if (attempts > 0 && reason === "expired") return Date.parse(expires_at);
	if (attempts > 0 && reason === "uncertain") return startOf({ id });
	return due_at || now_ms;
}
