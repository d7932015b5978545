import type { Sql } from "../connection.ts";
import { INDEXED_FIELDS, type IndexedEvent } from "../event-index.ts";

/** Columns of an event. */
export const COLUMNS = "seq, timestamp, type, actor, realm_id, realm, data, hash";

/** Events read at a time: what is done with them holds up others for so long. */
const SEGMENT = 5000;

/** Reads the events of a kind in order. @param which a condition, with `$2` and so on for its values */
export async function* everyEvent(
	sql: Sql,
	which = "true",
	values: readonly unknown[] = [],
): AsyncGenerator<IndexedEvent, undefined> {
	// Another program may have put events before the first.
	for (let after = Number.MIN_SAFE_INTEGER; ; ) {
		const events = await sql.rows<IndexedEvent>(
			`SELECT ${COLUMNS}, ${INDEXED_FIELDS.join(", ")} FROM audit_event WHERE seq > $1 AND ${which} ORDER BY seq LIMIT ${SEGMENT}`,
			[after, ...values],
		);
		yield* events;
		const last = events.at(-1);
		if (last === undefined) return;
		after = last.seq;
	}
}
