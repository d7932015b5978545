import type { Database } from "better-sqlite3";
import { GENESIS } from "../../audit/chain.ts";
import type { EventQuery, EventRange, EventScope } from "../../audit/event-query.ts";
import { EVENT_TYPES } from "../../audit/event-types.ts";
import type {
	Anchor,
	ChainedEvent,
	ChainReport,
	Checkpoint,
	LatestProof,
	ListedEvent,
	StoredEvent,
} from "../../audit/model.ts";
import { keySetIn, verifyChain } from "../../audit/verify.ts";
import type { RowKey } from "../../crypto/row-macs.ts";
import { TERM } from "./audit-blocks.ts";
import { type AuditPostings, auditPostings } from "./audit-postings.ts";
import { inGroups, MOST_LOOKED_UP, shared, type Walk } from "./event-walks.ts";
import { ANY, fact, IS_OF_KEY, keyEvents } from "./key-events.ts";
import { keySets } from "./key-sets.ts";
import { realmsOf } from "./member-realms.ts";
import { compareRows } from "./row-comparison.ts";
import { createStatements } from "./statements.ts";
import { collectInTime, IN_TIME } from "./time-limit.ts";

/** Events read at a time while verifying, so that no long read keeps the write-ahead log from being emptied. */
const SEGMENT = 5000;

/** Questions about the log that may have to read all of it. They run in the reading worker. */
export function auditLog(db: Database, rowKeys: () => readonly RowKey[] = () => []) {
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
	const postings = auditPostings(db);
	const find = eventFinder(db, postings);
	const bind = binder(postings);
	return {
		...eventPages(db, find, bind, postings),
		count: eventCount(db, find, bind),
		checkpoints: (after: number, limit: number) => prepare(CHECKPOINTS).all(after, limit) as Checkpoint[],
		latest: (): LatestProof => ({
			checkpoint: prepare(LAST_CHECKPOINT).get() as Checkpoint | undefined,
			verified: prepare(LAST_VERIFIED).get() as StoredEvent | undefined,
		}),
		keys: keySets(db).named,
		verify(anchors: Anchor[]): ChainReport {
			const own = prepare("SELECT seq, hash FROM audit_checkpoint").all() as Anchor[];
			return verifyChain(everyEvent(), [...own, ...anchors], soundSets(db));
		},
		compare: () => compareRows(db, rowKeys()),
	};
}

/** Names the numbers of the events that a query asks about, below one, newest first; undefined where the log itself is walked. */
type Finder = (query: EventQuery) => Walk | undefined;

/** Makes the finder of events by what few of them have in common. */
function eventFinder(db: Database, { walk }: AuditPostings): Finder {
	const ofKey = keyEvents(db);
	const ofTerms =
		(terms: readonly string[]): Walk =>
		(below) =>
			walk(terms, below);

	/** Finds events by their types, before those of an actor or a realm are looked at. */
	function byType(type: string | undefined): Walk | undefined {
		if (type === undefined) return undefined;
		const types = type.endsWith(ANY) ? EVENT_TYPES.filter((one) => one.startsWith(type.slice(0, -1))) : [type];
		return ofTerms(types.map(TERM.type));
	}

	/** Finds the events of the realms that the query can see; deletions of realms, and events outside them, are seen by others, too. */
	function byRealm(query: EventQuery): Walk | undefined {
		const ids = ofKey.realms(query);
		if (ids === undefined || ids.length > MOST_REALMS) return undefined;
		const outside = query.realm === undefined ? [TERM.realm("")] : [];
		return ofTerms([...ids.map(TERM.realm), ...outside, TERM.type("realm.deleted")]);
	}

	return (query) => {
		const { token, key, actors, environment, type } = query;
		if (token !== undefined) return ofTerms([TERM.token(token)]);
		// People cause far fewer events than keys have, so those of a key and an actor are looked up among the actor's.
		if (key !== undefined && actors === undefined) return (below) => ofKey.walk({ ...query, key }, below);
		const ofActors = actors && ofTerms(actors.map(TERM.actor));
		const ofEnvironment =
			environment === undefined ? undefined : ofTerms([TERM.environment(environment), TERM.environment("")]);
		const ways = [byRealm(query), ofActors, ofEnvironment, byType(type)].filter((way) => way !== undefined);
		return ways.length === 0 ? undefined : ways.reduce(shared);
	};
}

/** Most realms whose events are merged. */
const MOST_REALMS = 64;

/** Makes the list of events whose numbers are found. */
function listOfFound(db: Database, bind: Bind) {
	const prepare = createStatements(db);
	return function* list(query: EventQuery, found: Generator<number>, limit: number): Generator<StoredEvent> {
		const isMatch = prepare(`SELECT * ${whereFound(query)} ORDER BY seq DESC LIMIT @left`);
		const values = bind(query);
		let left = limit;
		for (const seqs of inGroups(found, values.first, limit)) {
			const events = isMatch.all({ ...values, seqs: JSON.stringify(seqs), left }) as StoredEvent[];
			yield* events;
			left -= events.length;
			if (left === 0) return;
		}
	};
}

/** Tells whether a query asks for some of the events that it can see; all of them are counted faster in the order of their numbers. */
function isFiltered({ realm, type, actors, key, environment, token }: EventQuery): boolean {
	return [realm, type, actors, key, environment, token].some((given) => given !== undefined);
}

/** Makes the count of events. */
function eventCount(db: Database, find: Finder, bind: Bind) {
	const prepare = createStatements(db);
	return (query: EventQuery): number => {
		const found = isFiltered(query) ? find(query)?.(Number.MAX_SAFE_INTEGER) : undefined;
		const values = bind(query);
		const count = (rest: string, given = {}) =>
			prepare(`SELECT count(*) ${rest}`)
				.pluck()
				.get({ ...values, ...given }) as number;
		if (found === undefined) return count(where(query));
		let total = 0;
		for (const seqs of inGroups(found, values.first, MOST_LOOKED_UP))
			total += count(whereFound(query), { seqs: JSON.stringify(seqs) });
		return total;
	};
}

/** Pages of the log. One that takes too long has what was found by then, where events are looked at in their order. */
function eventPages(db: Database, find: Finder, bind: Bind, { endBefore }: AuditPostings) {
	const prepare = createStatements(db);
	const listFound = listOfFound(db, bind);
	return {
		list: (query: EventQuery, position: string | undefined, limit: number): ListedEvent[] => {
			const last = query.until === undefined ? Number.MAX_SAFE_INTEGER : endBefore(query.until);
			const before = Math.min(last, Number(position ?? last));
			const restAt = (at: number) => (at + 1 < before ? String(at + 1) : undefined);
			const numbers = find(query)?.(before);
			if (numbers !== undefined) return collectInTime(listFound(query, numbers, limit), withPosition, restAt);
			const found = prepare(`SELECT * ${where(query)} AND seq < @before ORDER BY seq DESC LIMIT @limit`);
			const events = found.iterate({ ...bind(query), before, limit }) as IterableIterator<StoredEvent>;
			return collectInTime(events, withPosition, restAt);
		},
		export: (query: EventQuery, { after = "0", last }: EventRange, limit: number): ChainedEvent[] => {
			const found = prepare(
				`SELECT *, ${PREVIOUS} ${where(query)} AND seq > @after AND seq <= @last ORDER BY seq LIMIT @limit`,
			);
			const range = { after: Number(after), last: Number(last), limit };
			type Found = StoredEvent & { previous_hash: Buffer | null };
			const events = found.iterate({ ...bind(query), ...range }) as IterableIterator<Found>;
			const chained = (event: Found) => ({ ...withPosition(event), previous_hash: event.previous_hash ?? GENESIS });
			return collectInTime(events, chained, (at) => (at - 1 > range.after ? String(at - 1) : undefined));
		},
	};
}

const CHECKPOINTS =
	"SELECT seq, timestamp, hash, key_id, signature FROM audit_checkpoint WHERE seq > ? ORDER BY seq LIMIT ?";
const LAST_CHECKPOINT =
	"SELECT seq, timestamp, hash, key_id, signature FROM audit_checkpoint ORDER BY seq DESC LIMIT 1";
const LAST_VERIFIED =
	"SELECT * FROM audit_event INDEXED BY audit_event_verified WHERE type = 'audit.verified' ORDER BY seq DESC LIMIT 1";
const PREVIOUS = "(SELECT hash FROM audit_event AS before WHERE before.seq = audit_event.seq - 1) AS previous_hash";

function withPosition<Row extends StoredEvent>(event: Row): Row & ListedEvent {
	return { ...event, position: String(event.seq) };
}

/** Selects from all events, in the order of their numbers. */
function where(query: EventQuery): string {
	return `FROM audit_event NOT INDEXED WHERE ${[IN_TIME, ...conditionsOf(query)].join(" AND ")}`;
}

/** Selects from a group of events whose numbers were found. */
function whereFound(query: EventQuery): string {
	const conditions = ["seq IN (SELECT value FROM json_each(@seqs))", ...conditionsOf(query)];
	return `FROM audit_event NOT INDEXED WHERE ${conditions.join(" AND ")}`;
}

function conditionsOf(query: EventQuery): string[] {
	return [
		`(${query.scopes.map(scopeText).join(" OR ") || "false"})`,
		...(query.realm === undefined ? [] : [query.realm_id === undefined ? OF_SLUG : OF_REALM]),
		...(query.type === undefined
			? []
			: [query.type.endsWith(ANY) ? "substr(type, 1, length(@start)) = @start" : "type = @type"]),
		...(query.actors === undefined ? [] : ["actor IN (SELECT value FROM json_each(@actors))"]),
		...(query.token === undefined ? [] : [`${fact("token_id")} = @token`]),
		...(query.key === undefined ? [] : [IS_OF_KEY]),
		...(query.environment === undefined ? [] : [OF_ENVIRONMENT]),
		...(query.since === undefined ? [] : ["timestamp >= @since", "seq >= @first"]),
		...(query.until === undefined ? [] : ["timestamp < @until"]),
	];
}

/**
 * A list of all environments names an empty one; a comparison and a promotion name two: `to_environment` and `from_environment` end alike. No text of
 * another fact has quotes that are not escaped, and reading the JSON of each event takes ten times as long.
 */
const OF_ENVIRONMENT = `(instr(data, 'environment":"' || @environment || '"') OR instr(data, '"environment":""'))`;
const OF_SLUG = "realm = @realm";
const OF_REALM = `(${OF_SLUG} OR realm_id = @realm_id)`;

/** Makes the function that checks whether the set that an event refers to names what was named. A database from before sets has none. */
function soundSets(db: Database): (event: StoredEvent) => boolean {
	const hasSets = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'audit_key_set'").get() !== undefined;
	const isSound = hasSets ? keySets(db).soundness() : () => false;
	return (event) => {
		const set = keySetIn(event);
		return set === undefined || isSound(event.realm_id, set);
	};
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

/** Makes the values of a query's conditions. `first` bounds the walk by the query's `since`: times are hardly ever in the order of numbers. */
type Bind = (query: EventQuery) => Record<string, unknown> & { first: number };

function binder({ firstSince }: AuditPostings): Bind {
	return ({ scopes, ...query }) => {
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
			first: query.since === undefined ? 0 : firstSince(query.since),
		};
	};
}
