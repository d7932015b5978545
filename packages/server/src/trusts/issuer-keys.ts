import { hash } from "node:crypto";
import * as v from "valibot";
import { FairCache } from "../fair-cache.ts";
import type { Limit } from "../limits.ts";
import { releaseSlot } from "../request-slot.ts";
import { createSemaphore, type Semaphore } from "../semaphore.ts";
import { createFetch, type FetchNeeds, IssuerUnavailable, TIMEOUT_S } from "./fetch.ts";
import { type IssuerKey, readKeys } from "./jwks.ts";

/** Milliseconds for which fetched keys are used without asking again. */
const FRESH_MS = 10 * 60_000;

/** Milliseconds for which they are used while the issuer is away. Design: §15 */
const KEPT_MS = 60 * 60_000;

/** Milliseconds from a fetch, good or bad, until an issuer is asked again. Design: §15 */
const PAUSE_MS = 30_000;

/** Issuers that are asked at the same time; those of one account's realms, and those that wait. Design: §15 */
const [AT_ONCE, OF_AN_ACCOUNT, WAITING] = [8, 2, 16];

/** Milliseconds that a fetch waits for its turn. */
const WAIT_MS = 2500;

/** Issuers that are remembered, and keys of one. */
const [MAX_ISSUERS, MAX_KEYS] = [1000, 25];

const DISCOVERY = "the issuer's discovery document";
const KEYS = "the issuer's key set";

const Metadata = v.object({ issuer: v.string(), jwks_uri: v.string() });
const KeySet = v.object({
	keys: v.pipe(v.array(v.record(v.string(), v.unknown())), v.minLength(1), v.maxLength(MAX_KEYS)),
});

/** Where an issuer's keys come from. */
export interface KeySource {
	issuer: string;
	/** PEM of its authority; null for those of Node. */
	ca_cert: string | null;
	/** Host of the address of its keys, when the trust was made. */
	keys_host: string;
	/** Account that the fetch counts toward: accounts take turns. */
	payer: string;
	/** The trust's realm. */
	realm_id: string;
}

/** A source whose keys may be at any host. */
type Asked = Omit<KeySource, "keys_host">;

/** The keys of issuers: fetched rarely, remembered for a while, and given out as long as they may be good. */
export interface IssuerKeys {
	/**
	 * Returns an issuer's keys.
	 * @param fits tells whether keys have the one that is needed: if not, the issuer is asked again after the pause
	 * @throws IssuerUnavailable when it has none, and none is remembered
	 */
	keysOf(source: KeySource, fits: (keys: readonly IssuerKey[]) => boolean): Promise<readonly IssuerKey[]>;
	/** Recalls an issuer's keys that may be used without asking it; undefined when there are none. */
	kept(source: KeySource): readonly IssuerKey[] | undefined;
	/** Asks an issuer for the host of its keys, and whether it has any. @throws IssuerUnavailable */
	findHost(source: Asked): Promise<string>;
	/** Counts the issuers that gave no keys when they were asked last, and whose earlier ones are used. */
	stale(): number;
	/** The limit on waiting fetches, for display. */
	limit: Limit;
}

/** State that is remembered of an issuer, with times in milliseconds of a monotonic clock. */
interface Remembered {
	keys: readonly IssuerKey[];
	keys_host: string;
	fetched_at: number;
	asked_at: number;
	/** Error of the last attempt, if it failed. */
	error: IssuerUnavailable | undefined;
	asking: Promise<void> | undefined;
	/** By payer, those who wait until it is asked. */
	waiting: Map<string, PromiseWithResolvers<void>>;
}

/**
 * Creates the cache of issuers' keys.
 * @param now monotonic milliseconds
 * Design: §15
 */
export function createIssuerKeys(needs: FetchNeeds, now: () => number = () => performance.now()): IssuerKeys {
	const remembered = new FairCache<Remembered>(MAX_ISSUERS);
	// Apart, so that trusts which nobody could make push out no keys that are in use.
	const attempts = new FairCache<Remembered>(MAX_ISSUERS);
	const { refresh, noteAsked, limit } = createAsking(needs, now);
	const isKept = ({ fetched_at }: Remembered) => now() - fetched_at < KEPT_MS;

	return {
		async keysOf(source, fits) {
			const entry = entryIn(remembered, source, source.keys_host);
			const is_fresh = now() - entry.fetched_at < FRESH_MS;
			const isEnough = is_fresh && fits(entry.keys);
			const refusal = isEnough ? undefined : await refusalOf(refresh(entry, source, source.keys_host));
			if (isKept(entry)) return entry.keys;
			throw refusal ?? entry.error ?? new IssuerUnavailable(`${KEYS} is not there yet`);
		},
		kept(source) {
			const entry = remembered.peek(nameOf(source, source.keys_host));
			return entry !== undefined && isKept(entry) ? entry.keys : undefined;
		},
		async findHost(source) {
			const entry = entryIn(attempts, source, "");
			const isOwn = await refresh(entry, source);
			if (!isOwn) throw new IssuerUnavailable("the issuer was asked a moment ago, with another authority");
			if (entry.error !== undefined) throw entry.error;
			// The trust that was just made uses it next.
			const { keys, keys_host, fetched_at, asked_at } = entry;
			const own = entryIn(remembered, source, keys_host);
			if (fetched_at <= own.fetched_at) return keys_host;
			Object.assign(own, { keys, keys_host, fetched_at, asked_at, error: undefined });
			noteAsked(own, source, keys_host);
			return keys_host;
		},
		stale: () => [...remembered.values()].filter((entry) => entry.error !== undefined && isKept(entry)).length,
		limit,
	};
}

/**
 * Makes the requests to issuers: each issuer is asked rarely, and accounts take turns.
 * @param now monotonic milliseconds
 */
function createAsking(needs: FetchNeeds, now: () => number) {
	/** Of those that share a pause, the one that asked last. */
	const askers = new FairCache<Remembered>(2 * MAX_ISSUERS);
	const semaphore = createIssuerSemaphore();
	const isRecent = ({ asking, asked_at }: Remembered) => asking !== undefined || now() - asked_at < PAUSE_MS;
	const wasAsked = (entry: Remembered, pause: string) =>
		[entry, askers.peek(pause)].some((one) => one !== undefined && isRecent(one));

	async function ask(entry: Remembered, source: Asked, keys_host?: string): Promise<void> {
		entry.asked_at = now();
		try {
			Object.assign(entry, await fetchKeys(needs, source, keys_host), { fetched_at: now(), error: undefined });
		} catch (error) {
			if (!(error instanceof IssuerUnavailable)) throw error;
			entry.error = error;
		} finally {
			entry.asking = undefined;
		}
	}

	/**
	 * Begins to ask when the turn of the payer's realm comes. Each has a turn of its own, and all are served by the one that comes first.
	 * @returns once it has begun, or was done for another entry
	 * @throws IssuerUnavailable when too many issuers of this payer wait
	 */
	function begin(entry: Remembered, source: Asked, keys_host?: string): Promise<void> {
		const { payer, realm_id } = source;
		const [place, pause] = [`${payer} ${realm_id}`, pauseOf(source, keys_host)];
		const known = entry.waiting.get(place);
		if (known !== undefined) return known.promise;
		const begun = Promise.withResolvers<void>();
		entry.waiting.set(place, begun);
		const work = async () => {
			if (wasAsked(entry, pause)) return;
			askers.set(payer, pause, entry);
			entry.asking = ask(entry, source, keys_host);
			for (const { resolve } of entry.waiting.values()) resolve();
			await entry.asking;
		};
		void semaphore
			.run(work, { keys: [payer, place, realm_id], limit_ms: WAIT_MS })
			.then(begun.resolve, begun.reject)
			.finally(() => entry.waiting.delete(place));
		return begun.promise;
	}

	/**
	 * Asks unless it was done a moment ago; those who come meanwhile wait for the same answer.
	 * @returns false when it was done for another entry
	 * @throws IssuerUnavailable when too many issuers of this payer wait
	 */
	async function refresh(entry: Remembered, source: Asked, keys_host?: string): Promise<boolean> {
		const pause = pauseOf(source, keys_host);
		if (!wasAsked(entry, pause)) {
			releaseSlot();
			await begin(entry, source, keys_host);
		}
		if (entry.asking === undefined) return isRecent(entry);
		askers.set(source.payer, pause, entry);
		releaseSlot();
		await entry.asking;
		return true;
	}

	return {
		refresh,
		/** Notes that an issuer was asked for an entry's keys a moment ago. */
		noteAsked: (entry: Remembered, source: Asked, keys_host: string) =>
			askers.set(source.payer, pauseOf(source, keys_host), entry),
		limit: limitOf(semaphore),
	};
}

/** Waits for work, and returns the error with which an issuer's turn was refused. */
async function refusalOf(work: Promise<unknown>): Promise<IssuerUnavailable | undefined> {
	try {
		await work;
	} catch (error) {
		if (error instanceof IssuerUnavailable) return error;
		throw error;
	}
	return undefined;
}

const createIssuerSemaphore = () =>
	createSemaphore(AT_ONCE, {
		each: OF_AN_ACCOUNT,
		waiting: WAITING,
		busy: () =>
			new IssuerUnavailable(
				"too many issuers are asked at the same time (issuers_waiting_per_account): try again in a moment",
			),
	});

const limitOf = ({ fullest, refused }: Semaphore): Limit => ({
	name: "issuers_waiting_per_account",
	max: WAITING,
	used: fullest,
	refused,
	hint: "issuers that trusts name are slow to answer: the log names them, as jwt.refused with keys_unavailable",
});

/** Finds what is remembered of an issuer, or begins to remember. */
function entryIn(among: FairCache<Remembered>, source: Asked, keys_host: string): Remembered {
	const name = nameOf(source, keys_host);
	const found = among.get(source.payer, name);
	if (found !== undefined) return found;
	const never = Number.NEGATIVE_INFINITY;
	const entry: Remembered = {
		...{ keys: [], keys_host: "", fetched_at: never, asked_at: never },
		...{ error: undefined, asking: undefined, waiting: new Map() },
	};
	among.set(source.payer, name, entry);
	return entry;
}

/**
 * Names a pause between fetches. All who go by Node's authorities share that of an issuer. A realm's trusts with authorities of their own share one,
 * however these are spelled; they use up nobody else's.
 */
function pauseOf({ issuer, ca_cert, realm_id }: Asked, keys_host = ""): string {
	return hash("sha256", JSON.stringify([issuer, ca_cert === null ? "" : realm_id, keys_host]), "base64url");
}

function nameOf({ issuer, ca_cert }: Pick<KeySource, "issuer" | "ca_cert">, keys_host: string): string {
	return hash("sha256", JSON.stringify([issuer, ca_cert, keys_host]), "base64url");
}

/** Fetches both documents. @param keys_host the only host that may have the keys; any when it is absent */
async function fetchKeys(
	needs: FetchNeeds,
	{ issuer, ca_cert }: Pick<KeySource, "issuer" | "ca_cert">,
	keys_host: string | undefined,
): Promise<Pick<Remembered, "keys" | "keys_host">> {
	const get = createFetch(needs, ca_cert ?? undefined, AbortSignal.timeout(TIMEOUT_S * 1000));
	const metadata = await get(DISCOVERY, `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
	const address = keysAddress(metadata, issuer, keys_host);
	const keys = keysOfSet(await get(KEYS, address));
	return { keys, keys_host: new URL(address).host };
}

/**
 * Reads the address of an issuer's keys from its discovery document.
 * @param keys_host the only host that may have the keys; any when it is absent
 * @throws IssuerUnavailable
 */
export function keysAddress(metadata: unknown, issuer: string, keys_host: string | undefined): string {
	if (!v.is(Metadata, metadata)) throw new IssuerUnavailable(`${DISCOVERY} lacks issuer or jwks_uri`);
	if (metadata.issuer !== issuer) throw new IssuerUnavailable(`${DISCOVERY} names another issuer`);
	const address = URL.parse(metadata.jwks_uri);
	if (address === null) throw new IssuerUnavailable(`${DISCOVERY} lacks a valid jwks_uri`);
	if (keys_host !== undefined && address.host !== keys_host) throw new KeysMoved();
	return metadata.jwks_uri;
}

/** Reads the usable keys of an issuer's key set. @throws IssuerUnavailable when there is none */
export function keysOfSet(document: unknown): IssuerKey[] {
	if (!v.is(KeySet, document)) throw new IssuerUnavailable(`${KEYS} is not a list of 1 to ${MAX_KEYS} keys`);
	const keys = readKeys(document.keys);
	if (keys.length === 0) throw new IssuerUnavailable(`${KEYS} has no public key that can be used`);
	return keys;
}

/** An issuer whose keys are at another host than when the trust was made. */
class KeysMoved extends IssuerUnavailable {
	override readonly reason = "keys_moved";

	constructor() {
		super(`${DISCOVERY} names another host for the keys than when the trust was made: make the trust again`);
	}
}
