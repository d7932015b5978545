import type { Database } from "better-sqlite3";
import type { DayCounts, DayRange, DayReads, ReadKey } from "../../audit/event-query.ts";
import { TERM } from "./audit-blocks.ts";
import { auditPostings } from "./audit-postings.ts";
import { inGroups } from "./event-walks.ts";
import { fact, keyEvents } from "./key-events.ts";
import { createStatements } from "./statements.ts";

/** Events of a key that are looked at together, at first. */
const GROUP = 1000;

/** The number of the first event of a day: numbers go by time, except where the clock was set back. */
const FIRST =
	"SELECT seq FROM audit_event NOT INDEXED WHERE seq >= @first AND timestamp >= @start ORDER BY seq LIMIT 1";
/** Reads of values: a list without values, and a comparison, show none. */
const READS = `SELECT seq FROM audit_event NOT INDEXED WHERE seq IN (SELECT value FROM json_each(@seqs)) AND realm_id = @realm_id
	AND type IN ('secret.read', 'secret.list', 'secret.sync') AND coalesce(${fact("key")}, @key) = @key AND coalesce(${fact("environment")}, '') IN ('', @environment)`;

/** Reads of a key that were counted: those from its oldest event that was looked at up to the newest. */
interface Counted {
	newest: number;
	oldest: number;
	reads: readonly number[];
}

/** Keys whose counts are remembered, with some 500 bytes each. */
const MAX_COUNTED = 256;

/** Questions about the log by day. They run in the reading worker. */
export function auditDays(db: Database) {
	const prepare = createStatements(db);
	const lookAt = readCounter(db);
	const { firstSince, count } = auditPostings(db);
	/** A key that a program reads all day has thousands of new events, and its page is opened again and again: only the new ones are looked at. */
	const counted = new Map<string, Counted>();

	/** Finds the number of each day's first event, and at last that behind the range. */
	function boundsOf({ starts, end }: DayRange): number[] {
		const first = prepare(FIRST).pluck();
		const found = [...starts, end].map(
			(start) => (first.get({ start, first: firstSince(start) }) as number | undefined) ?? Number.MAX_SAFE_INTEGER,
		);
		// A clock that was set back must not make a day end before it begins.
		for (let at = found.length - 2; at >= 0; at--) found[at] = Math.min(found[at] ?? 0, found[at + 1] ?? 0);
		return found;
	}

	return {
		perDay(realm_id: string, range: DayRange): DayCounts[] {
			const bounds = boundsOf(range);
			return range.starts.map((_, at) => {
				const [from, below] = [bounds[at] ?? 0, bounds[at + 1] ?? 0];
				return { events: count(TERM.realm(realm_id), from, below), denials: count(TERM.denied(realm_id), from, below) };
			});
		},
		readsPerDay(secret: ReadKey, range: DayRange, most: number): DayReads {
			const { realm_id, environment, key } = secret;
			const bounds = boundsOf(range);
			const [first, end] = [bounds[0] ?? 0, bounds.at(-1) ?? 0];
			const name = JSON.stringify([realm_id, environment, key, range.end, most]);
			const before = counted.get(name);
			const reads = range.starts.map(() => 0);
			const look = (below: number, down: number, most: number) => lookAt(secret, { below, down, most }, bounds, reads);
			const fresh = look(end, Math.max(first, (before?.newest ?? -1) + 1), most);
			// If not all new events were looked at, those counted before are not next to them.
			const known = fresh.isAll ? before : undefined;
			for (const [at, count] of (known?.reads ?? []).entries()) reads[at] = (reads[at] ?? 0) + count;
			const { oldest } = look(known?.oldest ?? fresh.oldest, first, most - fresh.looked);
			if (counted.size >= MAX_COUNTED) counted.clear();
			counted.set(name, { newest: fresh.newest ?? before?.newest ?? 0, oldest, reads });
			const whole = oldest > first ? dayOf(bounds, oldest) + 1 : 0;
			return { reads: reads.slice(whole), isCut: whole > 0 };
		},
	};
}

/**
 * Makes the function that counts the reads among a key's events below one number and down to another, newest first, and adds them to their days. It
 * returns the newest and the oldest event that was looked at; 0 for the oldest when all were.
 */
function readCounter(db: Database) {
	const prepare = createStatements(db);
	const ofKey = keyEvents(db);
	return function lookAt(
		{ member_id, realm_id, realm, key, environment }: ReadKey,
		{ below, down, most }: { below: number; down: number; most: number },
		bounds: readonly number[],
		reads: number[],
	): { newest: number | undefined; oldest: number; looked: number; isAll: boolean } {
		const query = { scopes: [{ member_id }], realm, realm_id, type: undefined, actors: undefined, key };
		const isRead = prepare(READS).pluck();
		let [looked, oldest]: [number, number] = [0, below];
		let newest: number | undefined;
		if (below <= down) return { newest, oldest: 0, looked, isAll: true };
		if (most <= 0) return { newest, oldest, looked, isAll: false };
		for (const seqs of inGroups(ofKey.walk(query, below), down, GROUP)) {
			for (const seq of isRead.all({ seqs: JSON.stringify(seqs), realm_id, key, environment }) as number[]) {
				const at = dayOf(bounds, seq);
				reads[at] = (reads[at] ?? 0) + 1;
			}
			newest ??= seqs[0];
			oldest = seqs.at(-1) ?? oldest;
			looked += seqs.length;
			if (looked >= most) return { newest, oldest, looked, isAll: false };
		}
		return { newest, oldest: 0, looked, isAll: true };
	};
}

/** Finds the day of an event. */
function dayOf(bounds: readonly number[], seq: number): number {
	return bounds.findLastIndex((first) => first <= seq);
}
