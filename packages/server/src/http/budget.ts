import type { AppError } from "../errors.ts";
import { type CallerKeys, partOf, useOf } from "../fair-queue.ts";

/** Limits on the bytes that answers, or bodies, in transit may hold. Design: §13 */
export interface BudgetLimits {
	/** Of one token or session. */
	person: number;
	/** Of one account with its machines, or of a source when nobody is signed in. */
	account: number;
	all: number;
	/** Milliseconds after which one may be cut for another. */
	cut_ms: number;
}

/** Recipient of an answer, or sender of a body. */
export interface Recipient {
	/** Token or session; undefined when nobody is signed in. */
	person: string | undefined;
	/** Account or source, and what takes a part of its share. */
	keys: CallerKeys;
}

/** Holder whose limit is reached: a token or session, an account or source, or the server. */
export type Holder = Exclude<keyof BudgetLimits, "cut_ms">;

/** A limit, and the shares that it is about. */
interface Bound {
	holder: Holder;
	limit: number;
	isMeant(share: Share): boolean;
}

interface Share extends Recipient {
	bytes: number;
	since: number;
	cut(): void;
}

/** Counts the bytes of answers, or bodies, in transit. When full, cuts the largest holder's oldest one, or, if that is too recent, refuses the new one. */
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

	/** Bytes in use: in total, and by the account and the token or session that hold most; an account's are scaled where those of a machine are nearer to their limit. */
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
	 * @returns a function that releases it
	 * @throws AppError overloaded
	 */
	take(recipient: Recipient, bytes: number, cut: () => void): () => void {
		const { person, keys } = recipient;
		const kept = new Set(this.#shares);
		const make = (holder: Holder, isMeant: Bound["isMeant"], limit = this.limits[holder]) =>
			this.#makeRoom(kept, bytes, { holder, limit, isMeant });
		if (person !== undefined) make("person", (share) => share.person === person);
		for (let depth = keys.length - 1; depth >= 0; depth--) {
			const isOwn = (share: Share) => share.keys[depth] === keys[depth];
			const others = [...kept].filter((share) => share.keys[0] === keys[0] && !isOwn(share));
			make("account", isOwn, partOf(this.limits.account, keys, depth, sum(others)));
		}
		make("all", () => true);
		for (const share of this.#shares.difference(kept)) {
			this.#shares.delete(share);
			share.cut();
		}
		const share = { ...recipient, bytes, since: performance.now(), cut };
		this.#shares.add(share);
		return () => void this.#shares.delete(share);
	}

	#highestUse(): number {
		const totals = new Map<string, number>();
		for (const { keys, bytes } of this.#shares)
			for (const key of new Set(keys)) totals.set(key, (totals.get(key) ?? 0) + bytes);
		let highest = 0;
		for (const { keys } of this.#shares) {
			const heldBy = (depth: number) => totals.get(keys[depth] ?? "") ?? 0;
			highest = Math.max(highest, useOf(this.limits.account, keys, heldBy));
		}
		return highest;
	}

	/** Takes out of `kept` what must be cut. Nothing is cut for a share that is then refused. */
	#makeRoom(kept: Set<Share>, bytes: number, { holder, limit, isMeant }: Bound): void {
		for (;;) {
			const meant = [...kept].filter(isMeant);
			if (meant.length === 0 || sum(meant) + bytes <= limit) return;
			this.refused[holder]++;
			const { name: account } = largest(meant, ({ keys }) => keys[0]);
			const ofAccount = meant.filter(({ keys }) => keys[0] === account);
			const { name: person } = largest(ofAccount, (share) => share.person ?? "");
			const oldest = ofAccount.find((share) => (share.person ?? "") === person);
			if (oldest === undefined || performance.now() - oldest.since < this.limits.cut_ms)
				throw this.#refusal(holder, this.limits[holder]);
			kept.delete(oldest);
		}
	}
}

function sum(shares: Iterable<Share>): number {
	let total = 0;
	for (const { bytes } of shares) total += bytes;
	return total;
}

/** Finds the name that holds most. */
function largest(shares: Iterable<Share>, nameOf: (share: Share) => string): { name: string; bytes: number } {
	const totals = new Map<string, number>();
	for (const share of shares) totals.set(nameOf(share), (totals.get(nameOf(share)) ?? 0) + share.bytes);
	let most = { name: "", bytes: 0 };
	for (const [name, bytes] of totals) if (bytes > most.bytes) most = { name, bytes };
	return most;
}
