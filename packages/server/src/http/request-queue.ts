import { AppError } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";
import type { Slot } from "../request-slot.ts";
import { keysOfSource } from "../source.ts";

/** Limits of requests handled and waiting at a time. */
export interface QueueLimits {
	/** Requests handled at a time. */
	slots: number;
	/** Waiting requests of one source while every slot is taken; those beyond it when the last slot is taken are refused. */
	waiting: number;
	/** Requests without a slot because their commit takes longer than `late_ms`. */
	late: number;
	late_ms: number;
	/** Milliseconds of a turn of the event loop in which requests may begin; later ones wait for the next turn. */
	turn_ms: number;
}

/** An IPv6 site may have as many requests waiting as this many sources. A /48 would otherwise count as 65,536 sources. */
const SOURCES_OF_SITE = 4;

/** Factor for the waiting limit while slots are free: those requests arrive in one turn of the event loop and begin in the next. */
const BURST = 4;

/** Milliseconds between two checks for slots held too long, while a request waits for one. */
const CHECK_MS = 20;

/**
 * Limits the requests handled at a time. The others wait, each behind those of its own source; a free slot goes to the next source in
 * the ring, so a source that is alone gets every slot. The sources of one IPv6 site take one turn in the ring, and turns within it. Design: §13
 */
export class RequestQueue {
	readonly limits: QueueLimits;
	/** Number of refusals by each limit. */
	readonly refused = { waiting: 0, late: 0 };
	// In the order of taking.
	readonly #held = new Set<QueuedRequest>();
	readonly #late = new Set<QueuedRequest>();
	/** Waiting requests, by site and source. */
	readonly #waiting = new FairQueue<QueuedRequest>();
	/** Sources that had more requests waiting than their limit, since the last refusal of those. */
	readonly #bursts = new Set<string>();
	#serving: NodeJS.Immediate | undefined;
	#checking: NodeJS.Timeout | undefined;
	/** Start of the first request in this turn of the event loop; undefined before. */
	#turnBegan: number | undefined;

	constructor(limits: QueueLimits) {
		this.limits = limits;
	}

	/**
	 * Begins a request when its turn comes: immediately while a slot is free.
	 * @param refuse is called with rate_limited for a waiting request that does not get a slot
	 * @throws AppError rate_limited, overloaded
	 */
	enter(
		source: string,
		begin: (request: QueuedRequest) => void,
		refuse: (error: AppError) => void = () => undefined,
	): QueuedRequest {
		const request = new QueuedRequest(this, source);
		request.refuse = refuse;
		this.enqueue(request, () => begin(request));
		return request;
	}

	/** Counts requests with a slot, waiting for one (of the fullest source, without those that only wait for a turn), and without one behind a commit. */
	count(): { held: number; waiting: number; late: number } {
		const waiting = Math.min(this.#waiting.fullest(), this.limits.waiting);
		return { held: this.#held.size, waiting, late: this.#late.size };
	}

	/** @throws AppError rate_limited, overloaded */
	enqueue(request: QueuedRequest, begin: () => void): void {
		const now = performance.now();
		if (this.#held.size < this.limits.slots && this.#waiting.size === 0 && this.#hasTime(now))
			this.#take(request, begin, now);
		else this.#wait(request, begin);
	}

	/** Tells whether another request may begin in this turn of the event loop: a hundred requests of a millisecond each would delay everyone. */
	#hasTime(now: number): boolean {
		if (this.#turnBegan === undefined) {
			this.#turnBegan = now;
			setImmediate(() => this.#endTurn());
		}
		return now - this.#turnBegan < this.limits.turn_ms;
	}

	#endTurn(): void {
		this.#turnBegan = undefined;
		this.#serve();
	}

	#wait(request: QueuedRequest, begin: () => void): void {
		const { slots, waiting, late } = this.limits;
		const most = this.#held.size < slots ? BURST * waiting : waiting;
		const keys = keysOfSource(request.source);
		const ofSource = this.#waiting.count(...keys);
		if (ofSource >= most || this.#waiting.count(keys[0]) >= SOURCES_OF_SITE * most) throw this.#refusal();
		if (this.#late.size >= late) {
			this.refused.late++;
			throw tooMany("overloaded", `${late} requests are already waiting for the disk (requests_waiting_for_commits)`);
		}
		request.begin = begin;
		this.#waiting.add(request, ...keys);
		if (ofSource >= waiting) this.#bursts.add(request.source);
		this.#checking ??= setTimeout(() => this.#check(), CHECK_MS).unref();
	}

	#refusal(): AppError {
		this.refused.waiting++;
		const what = `${this.limits.waiting} requests from here are already waiting (requests_waiting_per_source)`;
		return tooMany("rate_limited", what);
	}

	/** Refuses what one source has waiting beyond its limit, the latest first, except for requests that have begun before. */
	#refuseSurplus(): void {
		for (const source of this.#bursts) {
			const surplus = Math.max(0, this.#waiting.count(...keysOfSource(source)) - this.limits.waiting);
			const fresh = [...this.#waiting].filter((request) => request.source === source && request.refuse !== undefined);
			for (const request of fresh.reverse().slice(0, surplus)) {
				this.#waiting.remove(request, ...keysOfSource(source));
				request.begin = undefined;
				request.refuse?.(this.#refusal());
			}
		}
		this.#bursts.clear();
	}

	/** Removes a request from its slot or its queue. */
	drop(request: QueuedRequest): void {
		this.#late.delete(request);
		if (this.#held.delete(request)) this.#wake();
		else if (request.begin !== undefined) this.#waiting.remove(request, ...keysOfSource(request.source));
	}

	holds(request: QueuedRequest): boolean {
		return this.#held.has(request);
	}

	#take(request: QueuedRequest, begin: () => void, now: number): void {
		request.begin = undefined;
		request.refuse = undefined;
		request.since = now;
		this.#held.add(request);
		begin();
	}

	/** Serves in a later turn of the event loop, so that arriving bytes are read in between. */
	#wake(): void {
		if (this.#waiting.size > 0) this.#serving ??= setImmediate(() => this.#serve());
	}

	#serve(): void {
		this.#serving = undefined;
		for (;;) {
			const now = performance.now();
			if (this.#held.size >= this.limits.slots) break;
			if (this.#waiting.size === 0 || !this.#hasTime(now)) return;
			const request = this.#waiting.take();
			if (request?.begin !== undefined) this.#take(request, request.begin, now);
		}
		this.#refuseSurplus();
	}

	/** Reclaims slots held too long. No request runs while a timer does: those requests wait for something. */
	#check(): void {
		const since = performance.now() - this.limits.late_ms;
		for (const request of this.#held) {
			if (request.since > since || this.#late.size >= this.limits.late) break;
			this.drop(request);
			this.#late.add(request);
		}
		this.#checking = this.#waiting.size === 0 ? undefined : setTimeout(() => this.#check(), CHECK_MS).unref();
	}
}

/** A request that waits for a slot, holds one, or is over. */
export class QueuedRequest implements Slot {
	readonly source: string;
	/** Set while it waits. */
	begin: (() => void) | undefined;
	/** Set until it begins. */
	refuse: ((error: AppError) => void) | undefined;
	/** Time at which it took its slot. */
	since = 0;
	readonly #queue: RequestQueue;
	/** The answer is sent, or its connection is closed. */
	isOver: boolean = false;
	/** Made for the first one: few requests have any. */
	#listeners: Set<() => void> | undefined;

	constructor(queue: RequestQueue, source: string) {
		this.#queue = queue;
		this.source = source;
	}

	release(): void {
		if (this.#queue.holds(this)) this.#queue.drop(this);
	}

	async reacquire(): Promise<void> {
		if (this.isOver || this.#queue.holds(this)) return;
		await new Promise<void>((resolve) => this.#queue.enqueue(this, resolve));
	}

	onOver(listener: () => void): () => void {
		if (this.isOver) queueMicrotask(listener);
		this.#listeners ??= new Set();
		this.#listeners.add(listener);
		return () => void this.#listeners?.delete(listener);
	}

	/** Gives up its slot or its wait permanently. */
	end(): void {
		this.isOver = true;
		for (const listener of this.#listeners ?? []) listener();
		const { begin } = this;
		this.#queue.drop(this);
		this.begin = undefined;
		// A request that waits to reacquire a slot continues, and finds its connection closed.
		if (this.since > 0) begin?.();
	}
}

function tooMany(code: "rate_limited" | "overloaded", what: string): AppError {
	return new AppError(code, `${what}: try again in a second`, { headers: { "retry-after": "1" } });
}
