import type { Database } from "better-sqlite3";
import { GENESIS } from "../../audit/chain.ts";
import type {
	Anchor,
	ChainedEvent,
	ChainReport,
	Checkpoint,
	EventQuery,
	EventRange,
	EventScope,
	ListedEvent,
	LogHead,
	StoredEvent,
} from "../../audit/model.ts";
import { verifyChain } from "../../audit/verify.ts";
import type { RowKey } from "../../crypto/row-macs.ts";
import { compareRows } from "./row-comparison.ts";
import { believed } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

/** Events read at a time while verifying, so that no long read keeps the write-ahead log from being emptied. */
const SEGMENT = 5000;

/** Questions about the log that may have to read all of it. They run in the reading worker. */
export function auditLog(db: Database, rowKeys: () => readonly RowKey[] = () => []) {
	const checkpoints = db.prepare("SELECT seq, timestamp, hash, key_id, signature FROM audit_checkpoint ORDER BY seq");
	const segment = db.prepare("SELECT * FROM audit_event WHERE seq > ? ORDER BY seq LIMIT ?");
	function* everyEvent(): Generator<StoredEvent> {
		// Another program may have put events before the first.
		for (let after = Number.NEGATIVE_INFINITY; ; ) {
			const events = segment.all(after, SEGMENT) as StoredEvent[];
			yield* events;
			const last = events.at(-1);
			if (last === undefined) return;
			after = last.seq;
		}
	}
	const prepare = createStatements(db);
	return {
		list: (query: EventQuery, before: string | undefined, limit: number): ListedEvent[] => {
			const found = prepare(`SELECT * ${where(query)} AND seq < @before ORDER BY seq DESC LIMIT @limit`);
			const range = { before: Number(before ?? Number.MAX_SAFE_INTEGER), limit };
			return (found.all({ ...bind(query), ...range }) as StoredEvent[]).map(withPosition);
		},
		count: (query: EventQuery): number => {
			const { total } = prepare(`SELECT count(*) AS total ${where(query)}`).get(bind(query)) as { total: number };
			return total;
		},
		export: (query: EventQuery, { after = "0", last }: EventRange, limit: number): ChainedEvent[] => {
			const found = prepare(
				`SELECT *, ${PREVIOUS} ${where(query, "NOT INDEXED")} AND seq > @after AND seq <= @last ORDER BY seq LIMIT @limit`,
			);
			const range = { after: Number(after), last: Number(last), limit };
			const events = found.all({ ...bind(query), ...range }) as (StoredEvent & { previous_hash: Buffer | null })[];
			return events.map((event) => ({ ...withPosition(event), previous_hash: event.previous_hash ?? GENESIS }));
		},
		checkpoints: (): Checkpoint[] => checkpoints.all() as Checkpoint[],
		verify: (anchors: Anchor[]): ChainReport => verifyChain(everyEvent(), anchors),
		compare: () => compareRows(db, rowKeys()),
	};
}

const PREVIOUS = "(SELECT hash FROM audit_event AS before WHERE before.seq = audit_event.seq - 1) AS previous_hash";

/** Describes the log up to its newest event: SQLite has one chain, so the number of an event is its position, too. */
export function headAt({ seq, hash }: Pick<StoredEvent, "seq" | "hash">): LogHead {
	return { events: seq, hash, position: String(seq) };
}

function withPosition<Row extends StoredEvent>(event: Row): Row & ListedEvent {
	return { ...event, position: String(event.seq) };
}

/** @param how the index to use, or `NOT INDEXED` to read the rows in their own order */
function where(query: EventQuery, how = indexFor(query)): string {
	const conditions = [
		`(${query.scopes.map(scopeText).join(" OR ") || "false"})`,
		...(query.realm === undefined ? [] : ["realm = @realm"]),
		...(query.type === undefined
			? []
			: [query.type.endsWith(ANY) ? "substr(type, 1, length(@start)) = @start" : "type = @type"]),
		...(query.actors === undefined ? [] : ["actor IN (SELECT value FROM json_each(@actors))"]),
		...(query.key === undefined ? [] : [`${fact("key")} = @key`]),
		...(query.token === undefined ? [] : [`${fact("token_id")} = @token`]),
		...(query.since === undefined ? [] : ["timestamp >= @since", FIRST_SINCE]),
		...(query.until === undefined ? [] : ["timestamp < @until"]),
	];
	return `FROM audit_event ${how} WHERE ${conditions.join(" AND ")}`;
}

/** End of a type that stands for all types that begin so. */
const ANY = ".*";

/** A fact of an event, in the words of the index over it. */
const fact = (name: string) => `iif(json_valid(data), data ->> '$.${name}', NULL)`;

/** A bound for the walk from the newest event: times are hardly ever in the order of numbers, so the lowest number is looked up. */
const FIRST_SINCE = `seq >= (SELECT coalesce(min(seq), ${Number.MAX_SAFE_INTEGER}) FROM audit_event INDEXED BY audit_event_by_time WHERE timestamp >= @since)`;

/** Chooses an index where one is far better than the others: SQLite has no statistics of the log. */
function indexFor({ key, token }: EventQuery): string {
	if (key !== undefined) return "INDEXED BY audit_event_by_key";
	return token === undefined ? "" : "INDEXED BY audit_event_by_token";
}

/** A scope as SQL: the condition that its events meet. */
function scopeText({ realm_ids, member_id, type, actor }: EventScope, index: number): string {
	const conditions = [
		...(realm_ids === undefined ? [] : [`realm_id IN (SELECT value FROM json_each(@realm_ids_${index}))`]),
		...(member_id === undefined ? [] : [`realm_id IN (${realmsOf(`@member_id_${index}`)})`]),
		...(type === undefined ? [] : [`type = @type_${index}`]),
		...(actor === undefined ? [] : [`actor = @actor_${index}`]),
	];
	return conditions.length === 0 ? "true" : `(${conditions.join(" AND ")})`;
}

/** Selects the live realms that a user owns or has a role in. */
function realmsOf(user: string): string {
	const [realm, binding] = [believed("realm"), believed("binding")];
	const own = `SELECT id FROM ${realm} WHERE user_id = ${user} AND deleted_at IS NULL`;
	const bound = `SELECT realm_id FROM ${binding} WHERE user_id = ${user}`;
	return `${own} UNION SELECT id FROM ${realm} WHERE id IN (${bound}) AND deleted_at IS NULL`;
}

function bind({ scopes, ...query }: EventQuery): Record<string, unknown> {
	const scoped = scopes.flatMap(({ realm_ids, member_id, type, actor }, index) => [
		[`realm_ids_${index}`, JSON.stringify(realm_ids ?? [])],
		[`member_id_${index}`, member_id],
		[`type_${index}`, type],
		[`actor_${index}`, actor],
	]);
	return {
		...query,
		...Object.fromEntries(scoped),
		actors: JSON.stringify(query.actors ?? []),
		start: query.type?.slice(0, -1),
	};
}
