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

/** Questions about the log by day. They run in the reading worker. */
export function auditDays(db: Database) {
	const prepare = createStatements(db);
	const ofKey = keyEvents(db);
	const { firstSince, count } = auditPostings(db);

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
		readsPerDay({ member_id, realm_id, realm, key, environment }: ReadKey, range: DayRange, most: number): DayReads {
			const bounds = boundsOf(range);
			const query = { scopes: [{ member_id }], realm, realm_id, type: undefined, actors: undefined, key };
			const reads = range.starts.map(() => 0);
			const isRead = prepare(READS).pluck();
			let [looked, whole] = [0, 0];
			for (const seqs of inGroups(ofKey.walk(query, bounds.at(-1) ?? 0), bounds[0] ?? 0, GROUP)) {
				const found = isRead.all({ seqs: JSON.stringify(seqs), realm_id, key, environment }) as number[];
				for (const seq of found) {
					const at = dayOf(bounds, seq);
					reads[at] = (reads[at] ?? 0) + 1;
				}
				looked += seqs.length;
				if (looked < most) continue;
				whole = dayOf(bounds, seqs.at(-1) ?? 0) + 1;
				break;
			}
			return { reads: reads.slice(whole), isCut: whole > 0 };
		},
	};
}

/** Finds the day of an event. */
function dayOf(bounds: readonly number[], seq: number): number {
	return bounds.findLastIndex((first) => first <= seq);
}
