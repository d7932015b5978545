import type { Database } from "better-sqlite3";
import type { Anchor, ChainReport, Checkpoint, EventQuery, StoredEvent } from "../../audit/model.ts";
import { verifyChain } from "../../audit/verify.ts";
import { createStatements } from "./statements.ts";

/** Events read in one go while verifying, so that no long read keeps the write-ahead log from being emptied. */
const SEGMENT = 5000;

/**
 * Questions about the log that may have to look at all of it. They run in the reader thread.
 * An event is visible when it belongs to one of the caller's realms; events without a realm, and a realm's deletion, to whoever did
 * them and to the instance admin. Design: §7.2.
 */
export function auditLog(db: Database) {
	const checkpoints = db.prepare("SELECT seq, timestamp, hash, key_id, signature FROM audit_checkpoint ORDER BY seq");
	const segment = db.prepare("SELECT * FROM audit_event WHERE seq > ? ORDER BY seq LIMIT ?");
	function* everyEvent(): Generator<StoredEvent> {
		for (let after = 0; ; ) {
			const events = segment.all(after, SEGMENT) as StoredEvent[];
			yield* events;
			const last = events.at(-1);
			if (last === undefined) return;
			after = last.seq;
		}
	}
	const prepare = createStatements(db);
	return {
		list: (query: EventQuery): StoredEvent[] => {
			const found = prepare(`SELECT * ${where(query)} AND seq < @before ORDER BY seq DESC LIMIT @limit`);
			return found.all(bind(query)) as StoredEvent[];
		},
		count: (query: EventQuery): number => {
			const { total } = prepare(`SELECT count(*) AS total ${where(query)}`).get(bind(query)) as { total: number };
			return total;
		},
		checkpoints: (): Checkpoint[] => checkpoints.all() as Checkpoint[],
		verify: (anchors: Anchor[]): ChainReport => verifyChain(everyEvent(), anchors),
	};
}

function where(query: EventQuery): string {
	const own = query.own === undefined ? "" : "AND actor = @own";
	const conditions = [
		`(realm_id IN (SELECT value FROM json_each(@realm_ids)) OR ((realm_id = '' OR type = 'realm.deleted') ${own}))`,
		...(query.realm === undefined ? [] : ["realm = @realm"]),
		...(query.type === undefined ? [] : ["type = @type"]),
		...(query.actors === undefined ? [] : ["actor IN (SELECT value FROM json_each(@actors))"]),
	];
	return `FROM audit_event WHERE ${conditions.join(" AND ")}`;
}

function bind(query: EventQuery): Record<string, unknown> {
	return {
		...query,
		realm_ids: JSON.stringify(query.realm_ids),
		actors: JSON.stringify(query.actors ?? []),
		before: query.before ?? Number.MAX_SAFE_INTEGER,
	};
}
