import { hash } from "node:crypto";
import { AttemptCounter } from "../attempt-counter.ts";
import { type AttemptKind, type AttemptStore, type Backoff, MAX_ATTEMPT_NAMES } from "../attempts/model.ts";
import { AppError } from "../errors.ts";
import type { Limit } from "../limits.ts";
import type { Awaitable } from "../operation.ts";
import { delayRefusal } from "../request-slot.ts";
import { sourceGroup } from "../source.ts";
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

/** Waits after failed logins. All strangers to an account wait long enough to slow a guesser, and too short to lock anybody out. */
const WAITS: Record<keyof typeof FAILURES, Backoff> = {
	pair: { free: FAILURES.pair.max, first_ms: 1000, doubles_every: 1 },
	source: { free: FAILURES.source.max, first_ms: 1000, doubles_every: 10 },
	account: { free: FAILURES.account.max, first_ms: 5000, doubles_every: Number.POSITIVE_INFINITY },
};

/**
 * Number of wrong second-factor codes in a day before a wait: for all strangers to an account together, and for each known source. The wait then doubles up
 * to 15 minutes. About a hundred guesses a day remain, so that one succeeds in about nine years.
 */
const FREE_CODES = 10;
const CODE_WAITS: Backoff = { free: FREE_CODES, first_ms: 1000, doubles_every: 1 };

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

/** Milliseconds in which requests of one source count. */
const MINUTE_MS = 60_000;

/** Counts a wrong guess. When the promise resolves, every server of the database counts it. */
export type Failed = () => Promise<void>;

/**
 * Slows down guessing without locking anybody out: only failures count, and it refuses sources, hardly ever an account. An account known at a
 * source has its own count there, which nobody else's failures touch. Refusals beyond 100 a minute of one source are sent after a second.
 */
export interface Throttle {
	/**
	 * Runs an attempt on an account's password when its turn in the queue comes; attempts on one account from one source run one after the other.
	 * @param account the name under which it is counted: an e-mail, or a directory's user name
	 * @param attempt calls `failed` on a wrong guess, and waits for it
	 * @throws AppError rate_limited, overloaded, with the seconds to wait in Retry-After, before any work is done
	 */
	attempt<T>(
		queue: Pick<PasswordQueue, "run">,
		account: string,
		ip: string,
		attempt: (failed: Failed) => Promise<T>,
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
	refused(ip: string): Promise<void>;
	/** Counts an exchange of a JWT. @throws AppError rate_limited */
	exchange(ip: string): Promise<void>;
	/** Its limits on what one source or account does, for display. */
	limits: readonly Limit[];
	/** Counts a refusal. Returns the number of refusals that this source had for the same cause in a quarter of an hour, this one included. */
	repeated(ip: string, cause: string): Promise<number>;
}

/** Clock and delay of a throttle. */
interface ThrottleOptions {
	/** Returns monotonic milliseconds. */
	now?: () => number;
	/** Delays a refusal that waits. */
	beforeRefusal?: () => Promise<unknown>;
}

/** Makes the throttle. The store counts failures; requests and refusals in a minute, which bound this process, are counted in memory. */
export function createThrottle(
	known: Pick<KnownSources, "knows">,
	attempts: AttemptStore,
	{ now = () => performance.now(), beforeRefusal = delayRefusal }: ThrottleOptions = {},
): Throttle {
	const inMemory = () => new AttemptCounter({ window_ms: MINUTE_MS, most: MAX_ATTEMPT_NAMES }, now);
	// The known are counted separately, whatever strangers do.
	const [strangers, owners] = [createFailures(attempts, "strangers"), createFailures(attempts, "owners")];
	let refusedCodes = 0;
	const refusals = inMemory();
	const [codes, refusedLogins] = [storedCounter(attempts, "codes"), storedCounter(attempts, "refusals")];

	async function refuse(refusal: AppError, source: string): Promise<never> {
		if (refusals.add(source) > PROMPT_REFUSALS_PER_MINUTE) await beforeRefusal();
		throw refusal;
	}
	const counters = { registrations: inMemory(), "refused logins": refusedLogins, "exchanges of JWTs": inMemory() };
	const minute = createMinute(counters, refuse);

	return {
		async attempt(queue, account, ip, attempt) {
			const requester = await requesterOf(known, account, ip);
			const { refusalOf, fail } = requester.known === undefined ? strangers : owners;
			const refusal = await refusalOf(requester);
			if (refusal !== undefined) return refuse(refusal, requester.source);
			return queue.run(requester, async () => {
				const late = await refusalOf(requester);
				if (late !== undefined) throw late;
				return attempt(() => fail(requester));
			});
		},
		async checkCodes(account, ip) {
			const name = codesOf(await requesterOf(known, account, ip));
			const [found] = await attempts.get("codes", [name]);
			if (found === undefined || found.wait_ms <= 0) return;
			refusedCodes++;
			throw tooMany("wrong codes", found.wait_ms, WRONG_CODES.name);
		},
		async wrongCode(account, ip) {
			const name = codesOf(await requesterOf(known, account, ip));
			await attempts.add("codes", [{ name, backoff: CODE_WAITS }]);
		},
		checkRefusals: (ip) => minute.check("refused logins", ip),
		refused: (ip) => minute.add("refused logins", ip),
		async repeated(ip, cause) {
			const [count = 1] = await attempts.add("causes", [{ name: `${sourceGroup(ip)} ${cause}` }]);
			return count;
		},
		exchange: (ip) => minute.count("exchanges of JWTs", ip),
		registration: (ip) => minute.count("registrations", ip),
		limits: [...failureLimits([strangers, owners]), ...minute.limits, limitOf(WRONG_CODES, codes, () => refusedCodes)],
	};
}

/** Counts by name, in memory or in the store. */
interface Counter {
	add(name: string): Awaitable<unknown>;
	get(name: string): Awaitable<{ count: number; left_ms: number }>;
	fullest(): Awaitable<number>;
}

const NO_ATTEMPTS = { count: 0, left_ms: 0 };

/** Makes a counter of the store's failures of one kind. */
function storedCounter(attempts: AttemptStore, kind: AttemptKind): Counter {
	return {
		add: (name) => attempts.add(kind, [{ name }]),
		get: async (name) => (await attempts.get(kind, [name]))[0] ?? NO_ATTEMPTS,
		fullest: () => attempts.fullest(kind, ""),
	};
}

/** Kind of request that is limited for each source in a minute. */
type What = keyof typeof PER_MINUTE;

const WHATS = Object.keys(PER_MINUTE) as What[];

/** Counts what sources do in a minute. @param refuse throws a refusal, after a while if there are many */
function createMinute(counters: Record<What, Counter>, refuse: (refusal: AppError, source: string) => Promise<never>) {
	const refused: Record<What, number> = { registrations: 0, "refused logins": 0, "exchanges of JWTs": 0 };
	const excess = async (what: What, source: string) => {
		const { count, left_ms } = await counters[what].get(source);
		if (count < PER_MINUTE[what].max) return undefined;
		refused[what]++;
		return tooMany(what, left_ms, PER_MINUTE[what].name);
	};
	return {
		/** @throws AppError rate_limited */
		async check(what: What, ip: string): Promise<void> {
			const source = sourceGroup(ip);
			const refusal = await excess(what, source);
			if (refusal !== undefined) await refuse(refusal, source);
		},
		async add(what: What, ip: string): Promise<void> {
			await counters[what].add(sourceGroup(ip));
		},
		/** Counts unless that would be too much. @throws AppError rate_limited */
		async count(what: What, ip: string): Promise<void> {
			const source = sourceGroup(ip);
			const refusal = await excess(what, source);
			if (refusal !== undefined) await refuse(refusal, source);
			await counters[what].add(source);
		},
		limits: WHATS.map((what) => limitOf(PER_MINUTE[what], counters[what], () => refused[what])),
	};
}

function limitOf(limit: Pick<Limit, "name" | "max" | "hint">, counter: Counter, refused: () => number): Limit {
	return { ...limit, used: async () => counter.fullest(), refused };
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
		const used = async () => {
			const most = Math.min(max, Math.max(...(await Promise.all(failures.map(({ fullest }) => fullest(kind))))));
			return kind === "pair" && most < max ? 0 : most;
		};
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

/** Counts failures, and makes names with too many wait. */
function createFailures(attempts: AttemptStore, known: "strangers" | "owners") {
	const refused = { pair: 0, source: 0, account: 0 };
	const keyOf = (kind: keyof typeof FAILURES, who: Guesser) => `${kind} ${who[kind]}`;
	/** Kinds that count: of the known the pair alone, so that others' failures do not make them wait. */
	const kinds = known === "strangers" ? (["pair", "source", "account"] as const) : (["pair"] as const);
	return {
		refused,
		fullest: async (kind: keyof typeof FAILURES) => attempts.fullest(known, `${kind} `),
		async refusalOf(who: Guesser): Promise<AppError | undefined> {
			const names = kinds.map((kind) => keyOf(kind, who));
			const found = await attempts.get(known, names);
			const at = found.findIndex(({ wait_ms }) => wait_ms > 0);
			const kind = kinds[at];
			if (kind === undefined) return undefined;
			refused[kind]++;
			return tooMany("failed logins", found[at]?.wait_ms ?? 0, FAILURES[kind].name);
		},
		async fail(who: Guesser): Promise<void> {
			await attempts.add(
				known,
				kinds.map((kind) => ({ name: keyOf(kind, who), backoff: WAITS[kind] })),
			);
		},
	};
}

function tooMany(what: string, left_ms: number, limit: string): AppError {
	const seconds = Math.max(1, Math.ceil(left_ms / 1000));
	const message = `too many ${what} from here (${limit}): try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}`;
	return new AppError("rate_limited", message, { headers: { "retry-after": String(seconds) } });
}
