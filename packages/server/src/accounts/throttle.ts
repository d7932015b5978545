import { hash } from "node:crypto";
import { AppError } from "../errors.ts";
import type { Limit } from "../limits.ts";
import { delayRefusal } from "../request-slot.ts";
import { sourceGroup } from "../source.ts";
import { AttemptCounter } from "./attempt-counter.ts";
import type { KnownSources } from "./known-sources.ts";
import type { PasswordQueue, Requester } from "./password-queue.ts";

/** Failed logins without a wait: of a pair of account and source, of a source, and of an account. Design: §6, §7.2. */
const FAILURES = {
	pair: {
		name: "failed_logins_per_account_and_source",
		max: 5,
		hint: "somebody guesses an account's password from one source, or has forgotten it: auth.login.failed in the audit log names both",
	},
	source: {
		name: "failed_logins_per_source",
		max: 50,
		hint: "one source guesses passwords: auth.login.failed in the audit log names it; if it is your proxy, add it to trusted_proxies",
	},
	account: {
		name: "failed_logins_per_account",
		max: 100,
		hint: "many sources guess the password of one account: auth.login.failed in the audit log names it",
	},
} as const;

/** Window in which failures count, in seconds. */
const WINDOW_S = 15 * 60;

/** Longest wait for one source after failures on one account. It doubles from one second. */
const MAX_WAIT_S = 15 * 60;

/**
 * Number of wrong second-factor codes before a wait, and the window in which they count: for all strangers to an account together, and for each known
 * source. The wait then doubles up to 15 minutes. About a hundred guesses a day remain, so that one succeeds in about nine years.
 */
const FREE_CODES = 10;
const CODE_WINDOW_S = 24 * 60 * 60;

/** Wait of all strangers after very many failures on one account from anywhere: long enough to slow a guesser, too short to lock anybody out. */
const ACCOUNT_WAIT_S = 5;

/** Limits on one source in a minute. A refused login of a browser or program that was never begun costs its sender nothing, but us an event. */
const PER_MINUTE = {
	registrations: {
		name: "registrations_per_minute_per_source",
		max: 300,
		hint: "one source registers many accounts: if it is not yours, set registration.mode to admin",
	},
	"refused logins": {
		name: "refused_logins_per_minute_per_source",
		max: 600,
		hint: "one source sends many logins and JWTs that are refused: auth.login.failed in the audit log has the reasons",
	},
	"exchanges of JWTs": {
		name: "jwt_exchanges_per_minute_per_source",
		max: 1200,
		hint: "one source exchanges many JWTs for tokens of machines: machine.token.created in the audit log names these",
	},
} as const;

const WRONG_CODES = {
	name: "wrong_codes_per_day_per_account",
	max: FREE_CODES,
	hint: "somebody who has the password of an account guesses its second factor: auth.login.failed in the audit log names the account",
};

/** Refusals of one source that are sent immediately. Further ones wait a second: clients that retry immediately would otherwise take up the server. */
const PROMPT_REFUSALS_PER_MINUTE = 100;

/** Names counted at the same time, 150 bytes each: more than can fail in a window. */
const MOST_NAMES = 131_072;

/**
 * Slows down guessing without locking anybody out: only failures count, and it refuses sources, hardly ever an account. An account known at a
 * source has its own count there, which nobody else's failures touch. Refusals beyond 100 a minute of one source are sent after a second.
 */
export interface Throttle {
	/**
	 * Runs an attempt on an account's password when its turn in the queue comes; attempts on one account from one source run one after the other.
	 * @param account the name under which it is counted: an e-mail, or a directory's user name
	 * @param attempt calls `failed` on a wrong guess
	 * @throws AppError rate_limited, overloaded, with the seconds to wait in Retry-After, before any work is done
	 */
	attempt<T>(
		queue: Pick<PasswordQueue, "run">,
		account: string,
		ip: string,
		attempt: (failed: () => void) => Promise<T>,
	): Promise<T>;
	/**
	 * Refuses strangers, or a known source, after too many wrong second-factor codes. It refuses immediately: it runs within an attempt, where a delay would
	 * hold up others.
	 * @throws AppError rate_limited
	 */
	checkCodes(account: string, ip: string): Promise<void>;
	wrongCode(account: string, ip: string): Promise<void>;
	/** Counts a registration. @throws AppError rate_limited */
	registration(ip: string): Promise<void>;
	/** Refuses a source that has had too many logins of a browser or program refused. @throws AppError rate_limited */
	checkRefusals(ip: string): Promise<void>;
	refused(ip: string): void;
	/** Counts an exchange of a JWT. @throws AppError rate_limited */
	exchange(ip: string): Promise<void>;
	/** Its limits on what one source or account does, for display. */
	limits: readonly Limit[];
	/** Counts a refusal. Returns the number of refusals that this source had for the same cause in a quarter of an hour, this one included. */
	repeated(ip: string, cause: string): number;
}

/**
 * Makes the throttle; it counts in memory, so a restart resets it.
 * @param now monotonic milliseconds
 * @param beforeRefusal delay of a refusal that waits
 */
export function createThrottle(
	known: Pick<KnownSources, "knows">,
	now: () => number = () => performance.now(),
	beforeRefusal: () => Promise<unknown> = delayRefusal,
): Throttle {
	const counter = (window_s: number) => new AttemptCounter({ window_ms: window_s * 1000, most: MOST_NAMES }, now);
	// The known are counted separately, whatever strangers do.
	const [strangers, owners] = [createFailures(counter(WINDOW_S)), createFailures(counter(WINDOW_S))];
	let refusedCodes = 0;
	const refusals = counter(60);
	const causes = counter(WINDOW_S);
	const codes = counter(CODE_WINDOW_S);

	async function refuse(refusal: AppError, source: string): Promise<never> {
		if (refusals.add(source) > PROMPT_REFUSALS_PER_MINUTE) await beforeRefusal();
		throw refusal;
	}
	const minute = createMinute(() => counter(60), refuse);

	return {
		async attempt(queue, account, ip, attempt) {
			const requester = await requesterOf(known, account, ip);
			const { refusalOf, fail } = requester.known === undefined ? strangers : owners;
			const refusal = refusalOf(requester);
			if (refusal !== undefined) return refuse(refusal, requester.source);
			return queue.run(requester, () => {
				const late = refusalOf(requester);
				if (late !== undefined) throw late;
				return attempt(() => fail(requester));
			});
		},
		async checkCodes(account, ip) {
			const requester = await requesterOf(known, account, ip);
			const wait_ms = codes.waitOf(codesOf(requester));
			if (wait_ms <= 0) return;
			refusedCodes++;
			throw tooMany("wrong codes", wait_ms, WRONG_CODES.name);
		},
		async wrongCode(account, ip) {
			countWith(codes, codesOf(await requesterOf(known, account, ip)), FREE_CODES, (excess) => 2 ** excess);
		},
		checkRefusals: (ip) => minute.check("refused logins", ip),
		refused: (ip) => minute.add("refused logins", ip),
		repeated: (ip, cause) => causes.add(`${sourceGroup(ip)} ${cause}`),
		exchange: (ip) => minute.count("exchanges of JWTs", ip),
		registration: (ip) => minute.count("registrations", ip),
		limits: [...failureLimits([strangers, owners]), ...minute.limits, limitOf(WRONG_CODES, codes, () => refusedCodes)],
	};
}

/** Kind of request that is limited for each source in a minute. */
type What = keyof typeof PER_MINUTE;

/** Counts what sources do in a minute. @param refuse throws a refusal, after a while if there are many */
function createMinute(newCounter: () => AttemptCounter, refuse: (refusal: AppError, source: string) => Promise<never>) {
	const counted = Object.entries(PER_MINUTE).map(([what, limit]) => ({
		what,
		limit,
		counter: newCounter(),
		refused: 0,
	}));
	const of = Object.fromEntries(counted.map((one) => [one.what, one])) as Record<What, (typeof counted)[number]>;
	const excess = (what: What, source: string) => {
		const { count, left_ms } = of[what].counter.get(source);
		if (count < PER_MINUTE[what].max) return undefined;
		of[what].refused++;
		return tooMany(what, left_ms, PER_MINUTE[what].name);
	};
	return {
		/** @throws AppError rate_limited */
		async check(what: What, ip: string): Promise<void> {
			const source = sourceGroup(ip);
			const refusal = excess(what, source);
			if (refusal !== undefined) await refuse(refusal, source);
		},
		add: (what: What, ip: string) => void of[what].counter.add(sourceGroup(ip)),
		/** Counts unless that would be too much. @throws AppError rate_limited */
		async count(what: What, ip: string): Promise<void> {
			const source = sourceGroup(ip);
			const refusal = excess(what, source);
			if (refusal !== undefined) await refuse(refusal, source);
			of[what].counter.add(source);
		},
		limits: counted.map((one) => limitOf(one.limit, one.counter, () => one.refused)),
	};
}

function limitOf(limit: Pick<Limit, "name" | "max" | "hint">, counter: AttemptCounter, refused: () => number): Limit {
	return { ...limit, used: () => counter.fullest(), refused };
}

interface Guesser extends Requester {
	pair: string;
	account: string;
}

type Failures = ReturnType<typeof createFailures>;

/** A few mistakes are no attack: a pair shows once it waits. */
function failureLimits(failures: readonly Failures[]): Limit[] {
	return (["pair", "source", "account"] as const).map((kind) => {
		const { max } = FAILURES[kind];
		const most = () => Math.min(max, Math.max(...failures.map(({ fullest }) => fullest(kind))));
		const used = () => (kind === "pair" && most() < max ? 0 : most());
		const refused = () => failures.reduce((sum, { refused: of }) => sum + of[kind], 0);
		return { ...FAILURES[kind], used, refused };
	});
}

/** Names the account by a digest, since callers choose its length. */
async function requesterOf(known: Pick<KnownSources, "knows">, account: string, ip: string): Promise<Guesser> {
	const source = sourceGroup(ip);
	const digest = hash("sha256", account, "base64url").slice(0, 22);
	const requester = { source, account: digest, pair: `${source} ${digest}` };
	return (await known.knows(account, source)) ? { ...requester, known: digest } : requester;
}

/** Returns the name under which wrong codes are counted: strangers to an account share one. */
function codesOf({ pair, account, known }: Guesser): string {
	return known === undefined ? account : pair;
}

/** Adds one to a name's count, and blocks the name for a while after too many. */
function countWith(counter: AttemptCounter, name: string, free: number, wait_s: (excess: number) => number): void {
	const excess = counter.add(name) - free;
	if (excess >= 0) counter.block(name, Math.min(wait_s(excess), MAX_WAIT_S) * 1000);
}

/** Counts failures, and makes names with too many wait. */
function createFailures(counter: AttemptCounter) {
	const refused = { pair: 0, source: 0, account: 0 };
	const keyOf = (kind: keyof typeof FAILURES, who: Guesser) => `${kind} ${who[kind]}`;
	/** Returns only the pair of the known: others' failures do not make them wait. */
	const kindsOf = ({ known }: Guesser) =>
		known === undefined ? (["pair", "source", "account"] as const) : (["pair"] as const);
	const waits = {
		pair: (excess: number) => 2 ** excess,
		source: (excess: number) => 2 ** Math.floor(excess / 10),
		account: () => ACCOUNT_WAIT_S,
	};
	return {
		refused,
		fullest: (kind: keyof typeof FAILURES) => counter.fullest(`${kind} `),
		refusalOf(who: Guesser): AppError | undefined {
			const kind = kindsOf(who).find((one) => counter.waitOf(keyOf(one, who)) > 0);
			if (kind === undefined) return undefined;
			refused[kind]++;
			return tooMany("failed logins", counter.waitOf(keyOf(kind, who)), FAILURES[kind].name);
		},
		fail(who: Guesser): void {
			for (const kind of kindsOf(who)) countWith(counter, keyOf(kind, who), FAILURES[kind].max, waits[kind]);
		},
	};
}

function tooMany(what: string, left_ms: number, limit: string): AppError {
	const seconds = Math.max(1, Math.ceil(left_ms / 1000));
	const message = `too many ${what} from here (${limit}): try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}`;
	return new AppError("rate_limited", message, { headers: { "retry-after": String(seconds) } });
}
