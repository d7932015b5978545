/**
 * Keys of a caller's work, from the outermost: the account or the source that it counts against and, of an account, the person, or the realm of a
 * machine and the machine.
 */
export type CallerKeys = readonly [payer: string, ...string[]];

/** Largest shares of what the rest of the account leaves free: of the account, of all machines of a realm, and of one machine. */
const PARTS = [1, 3 / 4, 1 / 2] as const;

/**
 * Computes how much a caller may use under one of its keys, so that a machine, or a realm with many, leaves room for the account and its machines in other
 * realms. Design: §13
 * @param max what the account is allowed
 * @param depth of the key, the outermost being 0
 * @param others what is taken under the outermost key, and not under this one
 */
export function partOf(max: number, { length }: readonly string[], depth: number, others: number): number {
	return length < PARTS.length ? max : (max - others) * (PARTS[depth] ?? 1);
}

/** Computes how much of `max` a caller uses, scaled to it: by that of its keys which refuses next. @param heldBy tells what a key at a depth holds */
export function useOf(max: number, keys: readonly string[], heldBy: (depth: number) => number): number {
	const all = heldBy(0);
	const uses = keys.map((_, depth) => {
		const own = heldBy(depth);
		return Math.min(max, Math.round((own / partOf(max, keys, depth, all - own)) * max));
	});
	return Math.max(all, ...uses);
}

/**
 * Waiting items under keys: the keys take turns, and items of one key go in order of arrival. A key may hold further keys, which take turns
 * within it. A key that comes, or has had its turn, goes behind the others.
 */
export class FairQueue<Item> {
	#size = 0;
	/** Items without a further key. */
	readonly #items = new Set<Item>();
	/** The queue of each key, the next one first. */
	readonly #ring = new Map<string, FairQueue<Item>>();

	/** Number of items, of all keys. */
	get size(): number {
		return this.#size;
	}

	/** Adds an item. @param keys from the outermost one */
	add(item: Item, key?: string, ...inner: string[]): void {
		this.#size++;
		if (key === undefined) {
			this.#items.add(item);
			return;
		}
		let queue = this.#ring.get(key);
		if (queue === undefined) {
			queue = new FairQueue();
			this.#ring.set(key, queue);
		}
		queue.add(item, ...inner);
	}

	/** Removes an item. @param keys those it was added with @returns false when it is not there */
	remove(item: Item, key?: string, ...inner: string[]): boolean {
		const queue = key === undefined ? undefined : this.#ring.get(key);
		const isRemoved = key === undefined ? this.#items.delete(item) : queue?.remove(item, ...inner) === true;
		if (key !== undefined && queue?.size === 0) this.#ring.delete(key);
		if (isRemoved) this.#size--;
		return isRemoved;
	}

	/** Takes out the next item that is ready; its key has had its turn. */
	take(isReady: (item: Item) => boolean = () => true): Item | undefined {
		for (const item of this.#items) {
			if (!isReady(item)) continue;
			this.#items.delete(item);
			this.#size--;
			return item;
		}
		for (const [key, queue] of this.#ring) {
			const item = queue.take(isReady);
			if (item === undefined) continue;
			this.#ring.delete(key);
			if (queue.size > 0) this.#ring.set(key, queue);
			this.#size--;
			return item;
		}
		return undefined;
	}

	/** Iterates over all items, those of one key together. */
	*[Symbol.iterator](): Generator<Item> {
		yield* this.#items;
		for (const queue of this.#ring.values()) yield* queue;
	}

	/** Counts the items under a key, or under a key within it. @param keys from the outermost one */
	count(...[key, ...inner]: readonly string[]): number {
		return key === undefined ? this.#size : (this.#ring.get(key)?.count(...inner) ?? 0);
	}

	/** Tells whether one more item fits under a caller's keys. @param max items of its account */
	hasRoom(max: number, keys: CallerKeys): boolean {
		const all = this.count(keys[0]);
		return keys.every((_, depth) => {
			const own = this.count(...keys.slice(0, depth + 1));
			return own < partOf(max, keys, depth, all - own);
		});
	}

	/** Counts the items under the outermost key that has most. */
	fullestKey(): number {
		return Math.max(0, ...[...this.#ring.values()].map(({ size }) => size));
	}

	/** Computes the highest use of `max`, scaled to it: of an account, or of a machine's or a realm's part, whichever refuses next. */
	highestUse(max: number): number {
		const uses = [...this.#keys()].map((keys) => useOf(max, keys, (depth) => this.count(...keys.slice(0, depth + 1))));
		return Math.max(0, ...uses);
	}

	/** Iterates over the keys of items, from the outermost. */
	*#keys(): Generator<string[]> {
		if (this.#items.size > 0) yield [];
		for (const [key, queue] of this.#ring) for (const inner of queue.#keys()) yield [key, ...inner];
	}

	/** Counts the items under the innermost key that has most. */
	fullest(): number {
		let most = this.#items.size;
		for (const queue of this.#ring.values()) most = Math.max(most, queue.fullest());
		return most;
	}
}
