/** Record of one name: its count in the window that ends at `ends`, and until when it has to wait, in the clock's milliseconds. */
interface Entry {
	count: number;
	ends: number;
	blocked: number;
}

/** Bounds of a counter. */
export interface CounterLimits {
	/** Milliseconds from the first event that counts until it is forgotten. */
	window_ms: number;
	/** Maximum number of names kept. */
	most: number;
}

/** Entries examined, from the oldest, for one that may be forgotten. */
const MAX_CHECKED = 64;

/** Milliseconds that names wait when there is no room for them. */
const FULL_MS = 1000;

/**
 * Counts by name in bounded memory: a new name replaces the oldest one that does not have to wait. A block is never forgotten before its end; when
 * every name has one, all others have to wait, too.
 */
export class AttemptCounter {
	// Oldest first.
	readonly #entries = new Map<string, Entry>();
	readonly #limits: CounterLimits;
	readonly #now: () => number;
	/** End of the wait of names that are not kept. */
	#fullUntil = 0;

	/** @param now monotonic milliseconds */
	constructor(limits: CounterLimits, now: () => number) {
		this.#limits = limits;
		this.#now = now;
	}

	/** Counts one more; answers the count in the window, this one included. */
	add(name: string): number {
		const now = this.#now();
		const found = this.#entries.get(name);
		if (found !== undefined && now < found.ends) return ++found.count;
		const entry = { count: 1, ends: now + this.#limits.window_ms, blocked: found?.blocked ?? 0 };
		if (found !== undefined) this.#entries.delete(name);
		else if (!this.#makeRoom(now)) {
			this.#fullUntil = now + FULL_MS;
			return 1;
		}
		this.#entries.set(name, entry);
		return 1;
	}

	/** Answers the count in the window, and the milliseconds left of it. */
	get(name: string): { count: number; left_ms: number } {
		const found = this.#entries.get(name);
		const left_ms = (found?.ends ?? 0) - this.#now();
		return found === undefined || left_ms <= 0 ? { count: 0, left_ms: 0 } : { count: found.count, left_ms };
	}

	/** Answers the highest count of a window that has not ended. @param prefix of the names that are meant */
	fullest(prefix = ""): number {
		const now = this.#now();
		let most = 0;
		for (const [name, { count, ends }] of this.#entries)
			if (count > most && now < ends && name.startsWith(prefix)) most = count;
		return most;
	}

	/** Makes a counted name wait. */
	block(name: string, wait_ms: number): void {
		const found = this.#entries.get(name);
		if (found !== undefined) found.blocked = this.#now() + wait_ms;
	}

	/** Milliseconds that a name has to wait; 0 when it may go on. */
	waitOf(name: string): number {
		return Math.max(0, (this.#entries.get(name)?.blocked ?? this.#fullUntil) - this.#now());
	}

	#makeRoom(now: number): boolean {
		let checked = 0;
		for (const [name, entry] of this.#entries) {
			if (this.#entries.size < this.#limits.most) return true;
			if (checked++ === MAX_CHECKED) return false;
			this.#entries.delete(name);
			// One that has to wait moves behind the others.
			if (entry.blocked > now) this.#entries.set(name, entry);
		}
		return this.#entries.size < this.#limits.most;
	}
}
