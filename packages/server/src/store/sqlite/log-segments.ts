import type { Database } from "better-sqlite3";
import type { StoredEvent } from "../../audit/model.ts";

/** Events read at a time, so that no long read keeps the write-ahead log from being emptied. */
const SEGMENT = 5000;

/** Reads the events of a kind up to one of them, in order. */
export function* eventsUpTo(db: Database, last: number, which: string, values: object): Generator<StoredEvent> {
	const part = db.prepare(`SELECT * FROM audit_event WHERE seq > @after AND seq <= @up_to AND ${which} ORDER BY seq`);
	const next = db.prepare("SELECT min(seq) FROM audit_event WHERE seq > ?").pluck();
	for (let after = 0; after < last; ) {
		const up_to = Math.min(after + SEGMENT, last);
		yield* part.all({ ...values, after, up_to }) as StoredEvent[];
		// Another program may have left a gap that no loop gets through.
		after = Math.max(up_to, Number(next.get(up_to) ?? last) - 1);
	}
}

/** Returns the number of the newest event. */
export function newest(db: Database): number {
	return db.prepare("SELECT coalesce(max(seq), 0) FROM audit_event").pluck().get() as number;
}
