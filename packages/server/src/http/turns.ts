import { AppError } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";
import type { Place } from "../place.ts";

/** Limits of requests handled and waiting at a time. */
export interface TurnLimits {
	/** Requests handled at a time. */
	places: number;
	/** Waiting requests of one source while every place is taken. */
	waiting: number;
	/** Requests without a place because their commit takes longer than `late_ms`. */
	late: number;
	late_ms: number;
	/** Milliseconds of a turn of the event loop in which requests may begin; later ones wait for the next turn. */
	turn_ms: number;
}

/** How many times as many may wait while places are free: they arrive in one turn of the event loop, and begin in the next. */
const BURST = 4;

/** Milliseconds between two looks for places held too long, while a request waits for one. */
const LOOK_MS = 20;

/**
 * Limits the requests handled at a time. The others wait, each behind those of its own source; a free place goes to the next source in
 * the ring, so a source that is alone gets every place. Design: §13
 */
export class Turns {
	readonly limits: TurnLimits;
	/** Number of refusals by each limit. */
	readonly refused = { waiting: 0, late: 0 };
	// In the order of taking.
	readonly #held = new Set<Turn>();
	readonly #late = new Set<Turn>();
	/** Waiting requests, by source. */
	readonly #waiting = new FairQueue<Turn>();
	#serving: NodeJS.Immediate | undefined;
	#looking: NodeJS.Timeout | undefined;
	/** Start of the first request in this turn of the event loop; undefined before. */
	#turnBegan: number | undefined;

	constructor(limits: TurnLimits) {
		this.limits = limits;
	}

	/**
	 * Begins a request when its turn comes: immediately while a place is free.
	 * @throws AppError rate_limited, overloaded
	 */
	enter(source: string, begin: (turn: Turn) => void): Turn {
		const turn = new Turn(this, source);
		this.queue(turn, () => begin(turn));
		return turn;
	}

	/** Counts requests with a place, waiting for one (of the fullest source), and without one behind a commit. */
	count(): { held: number; waiting: number; late: number } {
		return { held: this.#held.size, waiting: this.#waiting.fullest(), late: this.#late.size };
	}

	/** @throws AppError rate_limited, overloaded */
	queue(turn: Turn, begin: () => void): void {
		const now = performance.now();
		if (this.#held.size < this.limits.places && this.#waiting.size === 0 && this.#hasTime(now))
			this.#take(turn, begin, now);
		else this.#wait(turn, begin);
	}

	/** Tells whether another request may begin in this turn of the event loop: a hundred of a millisecond each would hold up all others. */
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

	#wait(turn: Turn, begin: () => void): void {
		const { places, waiting, late } = this.limits;
		const most = this.#held.size < places ? BURST * waiting : waiting;
		if (this.#waiting.count(turn.source) >= most) {
			this.refused.waiting++;
			throw tooMany("rate_limited", `${waiting} requests from here are already waiting`);
		}
		if (this.#late.size >= late) {
			this.refused.late++;
			throw tooMany("overloaded", `${late} requests are already waiting for the disk`);
		}
		turn.begin = begin;
		this.#waiting.add(turn, turn.source);
		this.#looking ??= setTimeout(() => this.#look(), LOOK_MS).unref();
	}

	/** Removes a request from its place or its queue. */
	drop(turn: Turn): void {
		this.#late.delete(turn);
		if (this.#held.delete(turn)) this.#wake();
		else if (turn.begin !== undefined) this.#waiting.remove(turn, turn.source);
	}

	holds(turn: Turn): boolean {
		return this.#held.has(turn);
	}

	#take(turn: Turn, begin: () => void, now: number): void {
		turn.begin = undefined;
		turn.since = now;
		this.#held.add(turn);
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
			if (this.#held.size >= this.limits.places || this.#waiting.size === 0 || !this.#hasTime(now)) return;
			const turn = this.#waiting.take();
			if (turn?.begin !== undefined) this.#take(turn, turn.begin, now);
		}
	}

	/** Takes back places held too long. No request runs while a timer does: those requests wait for something. */
	#look(): void {
		const since = performance.now() - this.limits.late_ms;
		for (const turn of this.#held) {
			if (turn.since > since || this.#late.size >= this.limits.late) break;
			this.drop(turn);
			this.#late.add(turn);
		}
		this.#looking = this.#waiting.size === 0 ? undefined : setTimeout(() => this.#look(), LOOK_MS).unref();
	}
}

/** One request's turn. */
export class Turn implements Place {
	readonly source: string;
	/** Set while it waits. */
	begin: (() => void) | undefined;
	/** Time at which it took its place. */
	since = 0;
	readonly #turns: Turns;
	/** The answer is sent, or nobody wants it any more. */
	isOver = false;

	constructor(turns: Turns, source: string) {
		this.#turns = turns;
		this.source = source;
	}

	leave(): void {
		if (this.#turns.holds(this)) this.#turns.drop(this);
	}

	async retake(): Promise<void> {
		// biome-ignore lint/suspicious/noUnnecessaryConditions: `end` sets it
		if (this.isOver || this.#turns.holds(this)) return;
		await new Promise<void>((resolve) => this.#turns.queue(this, resolve));
	}

	/** Gives up its place or its wait, for good. */
	end(): void {
		this.isOver = true;
		const { begin } = this;
		this.#turns.drop(this);
		this.begin = undefined;
		// A request that waits to retake a place goes on, and learns from its connection that nobody wants its answer.
		if (this.since > 0) begin?.();
	}
}

function tooMany(code: "rate_limited" | "overloaded", what: string): AppError {
	return new AppError(code, `${what}: try again in a second`, { headers: { "retry-after": "1" } });
}
