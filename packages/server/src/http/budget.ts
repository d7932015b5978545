import type { AppError } from "../errors.ts";
import { type CallerKeys, partOf, useOf } from "../fair-queue.ts";

/** Limits on the bytes that answers, or bodies, in transit may hold. Design: §13 */
export interface BudgetLimits {
	/** Of one token or session. */
	person: number;
	/** Of one account with its machines, or of a source when nobody is signed in: while others hold some, the same part of what they leave free. */
	account: number;
	all: number;
	/** Milliseconds without progress after which one may be cut for another. */
	cut_ms: number;
	/** Bytes per second that a reader must take, averaged over at least `cut_ms` in which it is waited for, or its answer may be cut for another, too. */
	least_rate?: number;
}

/** Part of all bytes that shares larger than this leave free for others. */
const SPARED = 1 / 8;

/** Seconds in which a reader may take as many bytes as its answer holds, however little that is. */
const LEAST_TURNOVER_S = 10;

/** Recipient of an answer, or sender of a body. */
export interface Recipient {
	/** Token or session; undefined when nobody is signed in. */
	person: string | undefined;
	/** Account or source, and what takes a part of its share. */
	keys: CallerKeys;
}

/** Holder whose limit is reached: a token or session, an account or source, or the server. */
export type Holder = Exclude<keyof BudgetLimits, "cut_ms" | "least_rate">;

/** A share that is taken. */
export interface TakenShare {
	/** Notes progress: only one that makes none, or is slow, is cut for another. */
	moved(): void;
	/** Notes that the reader took bytes, and for how many milliseconds it was waited for. */
	took(bytes: number, waited_ms: number): void;
	/** Releases it; calling it twice is harmless. */
	release(): void;
}

/** A limit that a new share must keep to. */
interface Bound {
	holder: Holder;
	/** Tells whether it does, now that some shares may have been cut. */
	isKept(): boolean;
	/** Lists the shares that may be cut for it, in the order of taking. */
	meant(): Share[];
}

interface Share extends Recipient {
	bytes: number;
	moved_at: number;
	/** Bytes that were taken, and milliseconds that the reader was waited for, since its rate was measured. */
	taken: number;
	waited_ms: number;
	is_slow: boolean;
	cut(): void;
}

/**
 * Counts the bytes of answers, or bodies, in transit. When a limit is reached, cuts the oldest of those that make no or little progress, of the holder
 * that has most of them; without any, refuses the new one. A holder of some takes more only within a part of what all others leave free, so that a few
 * holders, however much they ask for, leave room for those that hold nothing.
 */
export class Budget {
	readonly limits: BudgetLimits;
	readonly #refusal: (holder: Holder, limit: number) => AppError;
	/** Number of refusals and cuts, by whose limit was reached. */
	readonly refused: Record<Holder, number> = { person: 0, account: 0, all: 0 };
	// In the order of taking.
	readonly #shares = new Set<Share>();

	/** @param refusal makes the error when a holder has too many bytes */
	constructor(limits: BudgetLimits, refusal: (holder: Holder, limit: number) => AppError) {
		this.limits = limits;
		this.#refusal = refusal;
	}

	/**
	 * Bytes in use: in total, and by the account and the token or session that hold most; an account's are scaled where its part of what others leave
	 * free, or the part of a machine, is nearer.
	 */
	used(): Record<Holder, number> {
		const known = [...this.#shares].filter(({ person }) => person !== undefined);
		return {
			person: largest(known, ({ person = "" }) => person).bytes,
			account: this.#highestUse(),
			all: sum(this.#shares),
		};
	}

	/**
	 * Takes a share until it is released. A share above the limit of a token, session or account is granted while they hold nothing.
	 * @param cut ends the answer or body
	 * @throws AppError overloaded
	 */
	take(recipient: Recipient, bytes: number, cut: () => void): TakenShare {
		const kept = new Set(this.#shares);
		for (const bound of this.#bounds(recipient, bytes, kept)) this.#makeRoom(kept, bound);
		for (const share of this.#shares.difference(kept)) {
			this.#shares.delete(share);
			share.cut();
		}
		const share = { ...recipient, bytes, moved_at: performance.now(), taken: 0, waited_ms: 0, is_slow: false, cut };
		this.#shares.add(share);
		return {
			moved: () => {
				share.moved_at = performance.now();
			},
			took: (taken, waited_ms) => this.#measure(share, taken, waited_ms),
			release: () => void this.#shares.delete(share),
		};
	}

	/** Measures the rate of a reader: a trickle that never stops for long would otherwise hold its share for hours. */
	#measure(share: Share, taken: number, waited_ms: number): void {
		const { cut_ms, least_rate = 0 } = this.limits;
		share.taken += taken;
		share.waited_ms += waited_ms;
		if (share.waited_ms < cut_ms) return;
		share.is_slow = (share.taken / share.waited_ms) * 1000 < Math.min(least_rate, share.bytes / LEAST_TURNOVER_S);
		share.taken = share.waited_ms = 0;
	}

	/** Yields the limits of a new share, each when those before it are kept. @param kept the shares that are not cut */
	*#bounds({ person, keys }: Recipient, bytes: number, kept: ReadonlySet<Share>): Generator<Bound> {
		const { limits } = this;
		const isOf = (depth: number) => (share: Share) => share.keys[depth] === keys[depth];
		const held = (isMeant: (share: Share) => boolean) => sum(kept, isMeant);
		const within = (holder: Holder, isOwn: (share: Share) => boolean, limit: () => number): Bound => ({
			holder,
			isKept() {
				const own = held(isOwn);
				return own === 0 || own + bytes <= limit();
			},
			meant: () => [...kept].filter(isOwn),
		});
		if (person !== undefined)
			yield within(
				"person",
				(share) => share.person === person,
				() => limits.person,
			);
		yield within("account", isOf(0), () => limits.account);
		const part = () => this.#partBeside(sum(kept) - held(isOf(0)));
		yield {
			holder: held(isOf(0)) === 0 ? "all" : "account",
			isKept() {
				const own = held(isOf(0));
				return own === 0 ? hasRoomFor(bytes, sum(kept), limits) : own + bytes <= part();
			},
			// Nobody cuts one of a smaller holder to take more.
			meant: () => ofThoseWith([...kept], held(isOf(0))),
		};
		for (let depth = keys.length - 1; depth > 0; depth--) {
			const others = held(isOf(0)) - held(isOf(depth));
			yield within("account", isOf(depth), () => partOf(part(), keys, depth, others));
		}
	}

	/** Computes how much an account may hold in more than one share: with nothing held by others, its limit. */
	#partBeside(others: number): number {
		return ((this.limits.all - others) * this.limits.account) / this.limits.all;
	}

	#highestUse(): number {
		const { account } = this.limits;
		const totals = new Map<string, number>();
		for (const { keys, bytes } of this.#shares)
			for (const key of new Set(keys)) totals.set(key, (totals.get(key) ?? 0) + bytes);
		const all = sum(this.#shares);
		let highest = 0;
		for (const { keys } of this.#shares) {
			const heldBy = (depth: number) => totals.get(keys[depth] ?? "") ?? 0;
			const part = this.#partBeside(all - heldBy(0));
			const scaled = Math.min(account, Math.round((useOf(part, keys, heldBy) / part) * account));
			highest = Math.max(highest, heldBy(0), scaled);
		}
		return highest;
	}

	/** Takes out of `kept` what must be cut. Nothing is cut for a share that is then refused. */
	#makeRoom(kept: Set<Share>, { holder, isKept, meant }: Bound): void {
		while (!isKept()) {
			this.refused[holder]++;
			const now = performance.now();
			const idle = meant().filter(({ moved_at, is_slow }) => is_slow || now - moved_at >= this.limits.cut_ms);
			const { name: account } = largest(idle, ({ keys }) => keys[0]);
			const ofAccount = idle.filter(({ keys }) => keys[0] === account);
			const { name: person } = largest(ofAccount, (share) => share.person ?? "");
			const oldest = ofAccount.find((share) => (share.person ?? "") === person);
			if (oldest === undefined) throw this.#refusal(holder, this.limits[holder]);
			kept.delete(oldest);
		}
	}
}

/** Tells whether somebody who holds nothing may take a share: with others present, it leaves as much as it takes, or, if it is large, a part of all. */
function hasRoomFor(bytes: number, held: number, { all }: BudgetLimits): boolean {
	return held === 0 || held + bytes + Math.min(bytes, all * SPARED) <= all;
}

function sum(shares: Iterable<Share>, isMeant = (_: Share) => true): number {
	let total = 0;
	for (const share of shares) if (isMeant(share)) total += share.bytes;
	return total;
}

/** Adds up the bytes of each name. */
function totalsOf(shares: Iterable<Share>, nameOf: (share: Share) => string): Map<string, number> {
	const totals = new Map<string, number>();
	for (const share of shares) totals.set(nameOf(share), (totals.get(nameOf(share)) ?? 0) + share.bytes);
	return totals;
}

/** Finds the name that holds most. */
function largest(shares: Iterable<Share>, nameOf: (share: Share) => string): { name: string; bytes: number } {
	let most = { name: "", bytes: 0 };
	for (const [name, bytes] of totalsOf(shares, nameOf)) if (bytes > most.bytes) most = { name, bytes };
	return most;
}

/** Selects the shares of the accounts and sources that hold at least so much. */
function ofThoseWith(shares: readonly Share[], least: number): Share[] {
	const totals = totalsOf(shares, ({ keys }) => keys[0]);
	return shares.filter(({ keys }) => (totals.get(keys[0]) ?? 0) >= least);
}
