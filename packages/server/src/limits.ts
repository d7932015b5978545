/** Limits of what is stored. */
export type RowLimit =
	| "accounts"
	| "realm_bytes"
	| "realms_per_account"
	| "bindings_per_realm"
	| "bindings_per_account"
	| "tokens_per_account"
	| "sessions_per_account"
	| "identities_per_account"
	| "factors_per_account"
	| "invitations_per_account"
	| "invitations_per_realm"
	| "machines_per_realm"
	| "tokens_per_machine"
	| "trusted_tokens_per_machine"
	| "trusts_per_machine"
	| "used_jwts_per_realm";

/** Limits of open credentials. */
export type LeaseLimit = "max_connections" | "max_connections_per_realm";

/** A limit of this process and its current use. Everybody may read it: it names no realm, account or address. */
export interface Limit {
	/** Name such as `connections_per_source`, as in answers, metrics and `svc doctor`. */
	name: string;
	max: number;
	/** Tells the current use; for a limit per source, account, realm or engine, that of the fullest one. */
	used(): number | Promise<number>;
	/** Counts its refusals since the start. */
	refused?(): number;
	/** Names the realms, accounts or engines nearest to their limit, for the instance admin alone. */
	nearest?(): Promise<Filled[]>;
	/** Advice to the instance admin when the limit is nearly reached. */
	hint: string;
}

/** The limits of this process. Each part that enforces one adds it; metrics and doctor show them. */
export interface Limits {
	add(limit: Limit): void;
	all(): readonly Limit[];
	/** Counts a refusal by a limit that keeps no count of its own. */
	refuse(name: string): void;
	/** Tells how many refusals by a limit were counted here. */
	refusals(name: string): number;
}

/** Use of a limit. */
export interface Filled {
	/** The realm's slug, the account's e-mail, the machine as `realm/name`, or the engine; empty for the whole server. */
	name: string;
	used: number;
	max: number;
}

/** Scales the fullest one's use to a limit's general maximum: `max` may differ between realms, accounts and engines. */
export function usedOf(filled: readonly Filled[], max: number): number {
	return Math.round(Math.max(0, ...filled.map((one) => one.used / Math.max(1, one.max))) * max);
}

/** Milliseconds for which a measurement is kept. */
const FRESH_MS = 60_000;

/** Wraps a measurement that reads many rows: it runs at most once a minute. A failure is not kept. */
export function onceAMinute<Result>(measure: () => Promise<Result>): () => Promise<Result> {
	let measured_at = Number.NEGATIVE_INFINITY;
	let result: Promise<Result> | undefined;
	return () => {
		const now = performance.now();
		if (result === undefined || now - measured_at >= FRESH_MS) {
			measured_at = now;
			result = measure();
			result.catch(() => {
				result = undefined;
			});
		}
		return result;
	};
}

/** Makes the list of limits. Design: §13 */
export function createLimits(): Limits {
	const limits: Limit[] = [];
	const refused = new Map<string, number>();
	const refusals = (name: string) => refused.get(name) ?? 0;
	return {
		add: (limit) => void limits.push(limit),
		all: () => limits,
		refuse: (name) => void refused.set(name, refusals(name) + 1),
		refusals,
	};
}

/** Maximum number of seconds that the store works on one question about the log or leases. */
export const MAX_QUESTION_S = 10;

/** Makes the limit on the time of one question. Design: §13 */
export function questionLimit(store: { questionTimes(): { seconds: number; refused: number } }): Limit {
	return {
		name: "question_seconds",
		max: MAX_QUESTION_S,
		used: () => Math.min(MAX_QUESTION_S, store.questionTimes().seconds),
		refused: () => store.questionTimes().refused,
		hint: "somebody searches a large log for rare events or leases: name a realm, or a shorter time with `--since` and `--until`",
	};
}

/** Makes the limit on events that one account or address causes while the disk is low on space. Design: §13 */
export function lowDiskLimit(store: { eventsOnLowDisk(): { most: number; refused: number } }): Limit {
	return {
		name: "low_disk_events_per_second",
		max: 20,
		used: () => store.eventsOnLowDisk().most,
		refused: () => store.eventsOnLowDisk().refused,
		hint: "free space on the data directory's disk, or move the directory to a larger one; on PostgreSQL, raise database_bytes when its disk has room",
	};
}
