/** Entries of one payer, the least recently used first. */
type Own<Value> = Map<string, Value>;

/**
 * Keeps a limited number of entries for all payers. When it is full, it drops the least recently used entry of the payer that holds the most, so that no payer
 * displaces what others use. An entry that several payers use belongs to the last one that used it.
 */
export class FairCache<Value> {
	readonly #most: number;
	readonly #payers = new Map<string, Own<Value>>();
	/** Payer of each entry. */
	readonly #holders = new Map<string, string>();
	/** Payers by the number of their entries; the one that was idle longest comes first. */
	readonly #bySize: Set<string>[] = [];

	/** @param most entries that are remembered */
	constructor(most: number) {
		this.#most = most;
	}

	/** Finds an entry, which then belongs to this payer. */
	get(payer: string, name: string): Value | undefined {
		const holder = this.#holders.get(name);
		if (holder === undefined) return undefined;
		const value = this.#payers.get(holder)?.get(name) as Value;
		this.#forget(holder, name);
		this.#add(payer, name, value);
		return value;
	}

	/** Finds an entry without using it. */
	peek(name: string): Value | undefined {
		return this.#payers.get(this.#holders.get(name) ?? "")?.get(name);
	}

	/** Adds or replaces an entry. */
	set(payer: string, name: string, value: Value): void {
		const holder = this.#holders.get(name);
		if (holder !== undefined) this.#forget(holder, name);
		this.#add(payer, name, value);
		if (this.#holders.size > this.#most) this.#evict();
	}

	/** Iterates over all values. */
	*values(): Generator<Value> {
		for (const own of this.#payers.values()) yield* own.values();
	}

	#evict(): void {
		const [payer = ""] = this.#bySize.at(-1) ?? [];
		const [name = ""] = this.#payers.get(payer)?.keys() ?? [];
		this.#forget(payer, name);
	}

	#add(payer: string, name: string, value: Value): void {
		let own = this.#payers.get(payer);
		if (own === undefined) {
			own = new Map();
			this.#payers.set(payer, own);
		}
		const { size } = own;
		own.set(name, value);
		this.#holders.set(name, payer);
		this.#move(payer, size, own.size);
	}

	#forget(payer: string, name: string): void {
		const own = this.#payers.get(payer);
		if (own?.delete(name) !== true) return;
		this.#holders.delete(name);
		if (own.size === 0) this.#payers.delete(payer);
		this.#move(payer, own.size + 1, own.size);
	}

	#move(payer: string, from: number, to: number): void {
		this.#bySize[from]?.delete(payer);
		this.#bySize[to] ??= new Set();
		this.#bySize[to].add(payer);
		this.#bySize[0]?.clear();
		while (this.#bySize.at(-1)?.size === 0) this.#bySize.pop();
	}
}
