import { setTimeout as pause } from "node:timers/promises";
import { AppError } from "../errors.ts";
import type { Limit } from "../limits.ts";
import { leavePlace, REFUSAL_MS } from "../place.ts";
import { siteOf } from "../source.ts";

/** Waiting checks: of one source, of one IPv6 /48, of one account at its known sources, and of all strangers. Design: §13 */
const MOST = { source: 4, site: 16, account: 4, strangers: 1024 } as const;

/** Turns in a row for the known before a stranger gets one. */
const KNOWN_TURNS = 3;

/** A source that asks for a password to be hashed or compared. */
export interface Asker {
	/** Source as `sourceGroup` names it. */
	source: string;
	/** The account whose password it is, if it is known to sign in from this source. */
	known?: string;
	/** Account and source. Checks of one pair run one after another, so that each failure is counted before the next check starts. */
	pair?: string;
}

/** Runs checks of passwords when their turns come. */
export interface PasswordQueue {
	/** @throws AppError rate_limited or overloaded, with Retry-After, when too many wait already */
	run<T>(asker: Asker, check: () => Promise<T>): Promise<T>;
	/** Its limits, for display. */
	limits: readonly Limit[];
}

interface Waiting {
	pair: string | undefined;
	/** Keys that take turns: the first with other first ones, the second with others under the same first one. */
	keys: readonly [string, string];
	begin: () => void;
}

/**
 * Makes the queue: some checks run at once, the others wait in two lanes. In the lane of the known, sources take turns, and within each its accounts;
 * in the lane of strangers, sites, and within each its sources. Strangers cannot fill the lane of the known, and take one turn of four from it.
 * @param width checks that run at once: each holds 64 MiB
 * @param beforeRefusal delay that a refused check waits for
 * Design: §13
 */
export function createPasswordQueue(
	width: number,
	beforeRefusal: () => Promise<unknown> = () => pause(REFUSAL_MS),
): PasswordQueue {
	const lanes = { known: new Lane(), strangers: new Lane() };
	const { known, strangers } = lanes;
	const pairs = new Set<string>();
	const refused = { source: 0, account: 0, strangers: 0 };
	let running = 0;
	let streak = 0;
	const isFree = ({ pair }: Pick<Waiting, "pair">) => pair === undefined || !pairs.has(pair);

	function wait(asker: Asker): Promise<void> | undefined {
		const { source, pair, known: account } = asker;
		const keys = account === undefined ? ([siteOf(source) ?? source, source] as const) : ([source, account] as const);
		const { promise, resolve } = Promise.withResolvers<void>();
		const entry = { pair, keys, begin: resolve };
		if (running < width && isFree(entry)) {
			start(entry);
			return undefined;
		}
		refuseExcess(lanes, refused, keys, account !== undefined);
		(account === undefined ? strangers : known).add(entry);
		return promise;
	}

	function start({ pair }: Pick<Waiting, "pair">): void {
		running++;
		if (pair !== undefined) pairs.add(pair);
	}

	function end({ pair }: Asker): void {
		running--;
		if (pair !== undefined) pairs.delete(pair);
		while (running < width) {
			const next = takeNext();
			if (next === undefined) return;
			start(next);
			next.begin();
		}
	}

	function takeNext(): Waiting | undefined {
		const fromKnown = streak < KNOWN_TURNS ? known.take(isFree) : undefined;
		const next = fromKnown ?? strangers.take(isFree);
		streak = fromKnown === undefined ? 0 : streak + 1;
		return next ?? known.take(isFree);
	}

	return {
		async run(asker, check) {
			leavePlace();
			try {
				await wait(asker);
			} catch (refusal) {
				await beforeRefusal();
				throw refusal;
			}
			try {
				return await check();
			} finally {
				end(asker);
			}
		},
		limits: limitsOf(lanes, refused),
	};
}

/** The waiting checks of one kind. */
class Lane {
	readonly #waiting = new Set<Waiting>();
	/** Number of a key's waiting checks, and its last turn or arrival. */
	readonly #keys = new Map<string, { size: number; turn: number }>();
	#turns = 0;

	get size(): number {
		return this.#waiting.size;
	}

	count(key: string): number {
		return this.#keys.get(key)?.size ?? 0;
	}

	/** Counts the waiting checks of the inner key that has most. */
	fullest(): number {
		return Math.max(0, ...[...this.#waiting].map(({ keys }) => this.count(keys[1])));
	}

	add(entry: Waiting): void {
		this.#waiting.add(entry);
		for (const key of new Set(entry.keys)) {
			const { size, turn } = this.#keys.get(key) ?? { size: 0, turn: ++this.#turns };
			this.#keys.set(key, { size: size + 1, turn });
		}
	}

	/** Takes out the check whose keys had their turns longest ago. */
	take(isFree: (entry: Waiting) => boolean): Waiting | undefined {
		let next: Waiting | undefined;
		for (const entry of this.#waiting)
			if (isFree(entry) && (next === undefined || this.#isBefore(entry, next))) next = entry;
		if (next === undefined) return undefined;
		this.#waiting.delete(next);
		for (const key of new Set(next.keys)) {
			const size = this.count(key) - 1;
			if (size === 0) this.#keys.delete(key);
			else this.#keys.set(key, { size, turn: ++this.#turns });
		}
		return next;
	}

	#isBefore(one: Waiting, other: Waiting): boolean {
		const turnOf = (key: string) => this.#keys.get(key)?.turn ?? 0;
		const outer = turnOf(one.keys[0]) - turnOf(other.keys[0]);
		return outer < 0 || (outer === 0 && turnOf(one.keys[1]) < turnOf(other.keys[1]));
	}
}

type Lanes = Record<"known" | "strangers", Lane>;
type Refused = Record<"source" | "account" | "strangers", number>;

/** @throws AppError rate_limited, overloaded */
function refuseExcess(
	{ known, strangers }: Lanes,
	refused: Refused,
	[outer, inner]: Waiting["keys"],
	isKnown: boolean,
): void {
	const refuse = (limit: keyof Refused, most: number, whose: string): never => {
		refused[limit]++;
		const message = `${most} password checks ${whose} wait already: try again in 1 second`;
		const code = limit === "strangers" ? "overloaded" : "rate_limited";
		throw new AppError(code, message, { headers: { "retry-after": "1" } });
	};
	if (isKnown) {
		if (known.count(inner) >= MOST.account) refuse("account", MOST.account, "of this account");
		return;
	}
	if (strangers.count(inner) >= MOST.source) refuse("source", MOST.source, "from here");
	if (outer !== inner && strangers.count(outer) >= MOST.site) refuse("source", MOST.site, "from here");
	if (strangers.size >= MOST.strangers) refuse("strangers", MOST.strangers, "from elsewhere");
}

function limitsOf({ known, strangers }: Lanes, refused: Refused): Limit[] {
	return [
		{
			name: "password_checks_waiting",
			max: MOST.strangers,
			used: () => strangers.size,
			refused: () => refused.strangers,
			hint: "somebody guesses passwords from many addresses: who signed in from where they are is served all the same",
		},
		{
			name: "password_checks_waiting_per_source",
			max: MOST.source,
			used: () => strangers.fullest(),
			refused: () => refused.source,
			hint: "one source sends many logins: behind a proxy, name it in trusted_proxies, so that each client counts by itself",
		},
		{
			name: "password_checks_waiting_per_account",
			max: MOST.account,
			used: () => known.fullest(),
			refused: () => refused.account,
			hint: "a program signs in to one account again and again: give it an API token",
		},
	];
}
