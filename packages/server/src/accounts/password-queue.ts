import { AppError } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";
import type { Limit } from "../limits.ts";
import { delayRefusal, releaseSlot } from "../request-slot.ts";
import { siteOf } from "../source.ts";

/** Waiting checks: of one source, of one IPv6 /48, of one account at its known sources, and of all strangers. Design: §13 */
const MOST = { source: 4, site: 16, account: 4, strangers: 1024 } as const;

/** The limits' names. */
const NAMES: Record<keyof typeof MOST, string> = {
	source: "password_checks_waiting_per_source",
	site: "password_checks_waiting_per_site",
	account: "password_checks_waiting_per_account",
	strangers: "password_checks_waiting",
};

/** Checks in a row for the known before a stranger gets one. */
const KNOWN_IN_A_ROW = 3;

/** A source that asks for a password to be hashed or compared. */
export interface Requester {
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
	run<T>(requester: Requester, check: () => Promise<T>): Promise<T>;
	/** Its limits, for display. */
	limits: readonly Limit[];
}

interface Waiting {
	pair: string | undefined;
	/** Undefined for a stranger. */
	account: string | undefined;
	/** Keys that take turns: the first with other first ones, the second with others under the same first one. */
	keys: readonly [string, string];
	begin: () => void;
}

/** Numbers of checks that run at the same time. */
export interface Widths {
	readonly all: number;
	/** Those of strangers while more of them wait than one source may have waiting; as many as of all when undefined. */
	readonly strangers?: number;
}

/**
 * Makes the queue: some checks run at once, the others wait in two queues. In the queue of the known, sources take turns, and within each its accounts;
 * in the queue of strangers, sites, and within each its sources. Strangers cannot fill the queue of the known, and take one turn of four from it.
 * @param beforeRefusal delay that a refused check waits for
 * Design: §13
 */
export function createPasswordQueue(
	{ all: width, strangers: mostStrangers = width }: Widths,
	beforeRefusal: () => Promise<unknown> = delayRefusal,
): PasswordQueue {
	const queues = new Queues();
	const pairs = new Set<string>();
	const refused = { source: 0, site: 0, account: 0, strangers: 0 };
	let running = 0;
	let strangers = 0;
	let streak = 0;
	const isFree = ({ pair }: Pick<Waiting, "pair">) => pair === undefined || !pairs.has(pair);
	const hasPlace = ({ account }: Pick<Waiting, "account">) =>
		running < width && (account !== undefined || strangers < mostStrangers || queues.strangers.size <= MOST.source);

	function wait(requester: Requester): Promise<void> | undefined {
		const { source, pair, known: account } = requester;
		const keys = account === undefined ? ([siteOf(source) ?? source, source] as const) : ([source, account] as const);
		const { promise, resolve } = Promise.withResolvers<void>();
		const entry = { pair, account, keys, begin: resolve };
		if (hasPlace(entry) && isFree(entry)) {
			start(entry);
			return undefined;
		}
		refuseExcess(queues, refused, entry);
		queues.add(entry);
		return promise;
	}

	function start({ pair, account }: Pick<Waiting, "pair" | "account">): void {
		running++;
		if (account === undefined) strangers++;
		if (pair !== undefined) pairs.add(pair);
	}

	function end({ pair, known }: Requester): void {
		running--;
		if (known === undefined) strangers--;
		if (pair !== undefined) pairs.delete(pair);
		while (running < width) {
			const next = takeNext();
			if (next === undefined) return;
			start(next);
			next.begin();
		}
	}

	function takeNext(): Waiting | undefined {
		const fromKnown = streak < KNOWN_IN_A_ROW ? queues.take("known", isFree) : undefined;
		const next = fromKnown ?? (hasPlace({ account: undefined }) ? queues.take("strangers", isFree) : undefined);
		streak = fromKnown === undefined ? 0 : streak + 1;
		return next ?? queues.take("known", isFree);
	}

	return {
		async run(requester, check) {
			releaseSlot();
			try {
				await wait(requester);
			} catch (refusal) {
				await beforeRefusal();
				throw refusal;
			}
			try {
				return await check();
			} finally {
				end(requester);
			}
		},
		limits: limitsOf(queues, refused),
	};
}

/** Waiting checks: of strangers under site and source, of the known under source and account. */
class Queues {
	readonly strangers = new FairQueue<Waiting>();
	readonly known = new FairQueue<Waiting>();
	/** Waiting checks of each account, whatever their sources. */
	readonly ofAccount = new Map<string, number>();

	add(entry: Waiting): void {
		if (entry.account === undefined) this.strangers.add(entry, ...entry.keys);
		else {
			this.known.add(entry, ...entry.keys);
			this.ofAccount.set(entry.account, (this.ofAccount.get(entry.account) ?? 0) + 1);
		}
	}

	/** Takes the next check of one queue that is free to begin. */
	take(queue: "strangers" | "known", isFree: (entry: Waiting) => boolean): Waiting | undefined {
		const entry = this[queue].take(isFree);
		if (entry?.account === undefined) return entry;
		const left = (this.ofAccount.get(entry.account) ?? 0) - 1;
		if (left > 0) this.ofAccount.set(entry.account, left);
		else this.ofAccount.delete(entry.account);
		return entry;
	}
}

type Refused = Record<keyof typeof MOST, number>;

/** @throws AppError rate_limited, overloaded */
function refuseExcess(
	{ strangers, ofAccount }: Queues,
	refused: Refused,
	{ account, keys: [site, source] }: Waiting,
): void {
	const refuse = (limit: keyof Refused, whose: string): never => {
		refused[limit]++;
		const message = `${MOST[limit]} password checks ${whose} are already waiting (${NAMES[limit]}): try again in 1 second`;
		const code = limit === "strangers" ? "overloaded" : "rate_limited";
		throw new AppError(code, message, { headers: { "retry-after": "1" } });
	};
	if (account !== undefined) {
		if ((ofAccount.get(account) ?? 0) >= MOST.account) refuse("account", "of this account");
		return;
	}
	if (strangers.count(site, source) >= MOST.source) refuse("source", "from here");
	if (strangers.count(site) >= MOST.site) refuse("site", "from here");
	if (strangers.size >= MOST.strangers) refuse("strangers", "from elsewhere");
}

function limitsOf({ strangers, ofAccount }: Queues, refused: Refused): Limit[] {
	return [
		{
			name: NAMES.strangers,
			max: MOST.strangers,
			used: () => strangers.size,
			refused: () => refused.strangers,
			hint: "somebody is guessing passwords from many addresses: people at addresses where they have signed in before are still served",
		},
		{
			name: NAMES.source,
			max: MOST.source,
			used: () => strangers.fullest(),
			refused: () => refused.source,
			hint: "one source sends many logins: if it is your proxy, add it to trusted_proxies, so that clients are counted separately",
		},
		{
			name: NAMES.site,
			max: MOST.site,
			used: () => strangers.fullestKey(),
			refused: () => refused.site,
			hint: "addresses of one IPv6 /48 send many logins: people who have signed in from where they are before are still served",
		},
		{
			name: NAMES.account,
			max: MOST.account,
			used: () => Math.max(0, ...ofAccount.values()),
			refused: () => refused.account,
			hint: "a program signs in to one account repeatedly: give it an API token",
		},
	];
}
