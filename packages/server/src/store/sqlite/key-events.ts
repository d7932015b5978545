import type { Database } from "better-sqlite3";
import type { EventQuery, EventScope } from "../../audit/event-query.ts";
import { TERM } from "./audit-blocks.ts";
import { auditPostings } from "./audit-postings.ts";
import { inGroups, MOST_LOOKED_UP } from "./event-walks.ts";
import { SETS_WITH_KEY } from "./key-sets.ts";
import { realmsOf } from "./member-realms.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";
import { IN_TIME } from "./time-limit.ts";

/** Fact of an event. */
export const fact = (name: string) => `iif(json_valid(data), data ->> '$.${name}', NULL)`;

/** Condition that an event names the key, or refers to a set of its realm that holds it. Each set is looked up by itself: a key may be in millions of them. */
export const IS_OF_KEY = `(${fact("key")} = @key OR EXISTS (
	SELECT 1 FROM audit_key_set s CROSS JOIN audit_part_in_set m ON m.set_id = s.id CROSS JOIN audit_key_in_part i ON i.part_id = m.part_id
	WHERE s.hash = ${fact("key_set")} AND s.realm_id = audit_event.realm_id AND i.key_id = (SELECT id FROM audit_key WHERE key = @key)))`;

/** Query for the events of a key. */
type KeyQuery = EventQuery & { key: string };

/** Limits on what is looked at before the first event: runs are read in 60 ms, and so are all sets of a key. */
const MOST = { runs: 10_000, sets: 50_000 };

/** The events of a key. */
export interface KeyEvents {
	/** Finds the realms that the query's slug names or named, among those that it can see as a member; undefined for too many, or any. */
	realms(query: EventQuery): string[] | undefined;
	/** Yields their numbers below one, newest first. @throws TookTooLong, at a number below all that it yielded */
	walk(query: KeyQuery, below: number): Generator<number>;
}

/** The events of a key that name it in realms of these slugs, and those that refer to these sets. */
interface Runs {
	slugs: string[];
	sets: string[];
}

/** The events of a key among all those of these realms, undefined for any. */
interface Among {
	realm_ids: string[] | undefined;
}

/**
 * Makes the walk through the events of a key: those that name it, and those of bulk reads whose set holds it. It looks into the realms that the query can
 * see, each of whose runs is in order already, and merges them: a page costs a look per run, however many events there are. Where there are too many runs,
 * it looks at all events of these realms.
 */
export function keyEvents(db: Database, most = MOST): KeyEvents {
	const prepare = createStatements(db);
	const find = finder(db, most);
	const postings = auditPostings(db);
	function* among({ realm_ids }: Among, key: string, below: number): Generator<number> {
		if (realm_ids === undefined) {
			yield* prepare(OF_ALL).pluck().iterate({ key, below }) as IterableIterator<number>;
			return;
		}
		const ofRealms = postings.walk(realm_ids.map(TERM.realm), below);
		for (const seqs of inGroups(ofRealms, 0, MOST_LOOKED_UP))
			yield* prepare(OF_SOME)
				.pluck()
				.all({ key, seqs: JSON.stringify(seqs) }) as number[];
	}
	return {
		realms: find.realms,
		*walk(query, below) {
			const found = find.ofKey(query);
			if (!("slugs" in found)) yield* among(found, query.key, below);
			else yield* postings.walk(termsFor(found, query.key), below);
		},
	};
}

function termsFor({ slugs, sets }: Runs, key: string): string[] {
	return [...slugs.map((slug) => TERM.key(slug, key)), ...sets.map(TERM.keySet)];
}

const OF_ALL = `SELECT seq FROM audit_event NOT INDEXED WHERE ${IN_TIME} AND ${IS_OF_KEY} AND seq < @below ORDER BY seq DESC`;
const OF_SOME = `SELECT seq FROM audit_event NOT INDEXED WHERE seq IN (SELECT value FROM json_each(@seqs)) AND ${IS_OF_KEY} ORDER BY seq DESC`;

/** Types of the events that refer to a set of keys. */
const BULK_TYPES = ["secret.list", "secret.sync", "secret.diff"];

const FORMER_SLUGS = `SELECT realm_id AS id, iif(json_valid(data), data ->> '$.was', NULL) AS slug FROM audit_event INDEXED BY audit_event_restored
	WHERE type = 'realm.restored' AND realm_id IN (SELECT value FROM json_each(@ids)) LIMIT @most`;
const COUNT_SETS = `SELECT count(*) FROM (SELECT 1 FROM ${SETS_WITH_KEY} LIMIT @most) AS held`;
const SETS = `SELECT DISTINCT s.hash FROM ${SETS_WITH_KEY} AND s.realm_id IN (SELECT value FROM json_each(@ids))`;

/** A realm by a slug that it has or had. */
interface Named {
	id: string;
	slug: string | null;
}

/** Makes the function that finds where a key's events are. */
function finder(
	db: Database,
	most: typeof MOST,
): { ofKey(query: KeyQuery): Runs | Among; realms: KeyEvents["realms"] } {
	const prepare = createStatements(db);

	/** Names the realms that the query can see; undefined for all. */
	function visible(scopes: readonly EventScope[]): Named[] | undefined {
		if (scopes.some(({ member_id }) => member_id === undefined)) return undefined;
		const own = prepare(`SELECT id, slug FROM ${verified("realm")} WHERE id IN (${realmsOf("@member_id")})`);
		return scopes.flatMap(({ member_id }) => own.all({ member_id }) as Named[]);
	}

	/** Names realms by the slugs that they had before they were restored; undefined when they were restored too often. */
	function formerly(ids: string): Named[] | undefined {
		const found = prepare(FORMER_SLUGS).all({ ids, most: most.runs + 1 }) as Named[];
		return found.length > most.runs ? undefined : found;
	}

	/** Finds the sets of realms that hold a key; undefined when too many sets of any realms do. */
	function setsOf(key: string, ids: string): string[] | undefined {
		const count = prepare(COUNT_SETS)
			.pluck()
			.get({ key, most: most.sets + 1 }) as number;
		return count > most.sets ? undefined : (prepare(SETS).pluck().all({ key, ids }) as string[]);
	}

	const isAsked =
		({ realm, realm_id }: EventQuery) =>
		({ id, slug }: Named) =>
			realm === undefined || slug === realm || id === realm_id;

	function realms(query: EventQuery): string[] | undefined {
		const seen = visible(query.scopes.filter((scope) => !isOutside(scope)));
		const former = seen && formerly(idsOf(seen));
		return former && [...new Set([...seen, ...former].filter(isAsked(query)).map(({ id }) => id))];
	}

	function ofKey(query: KeyQuery): Runs | Among {
		const { key, type } = query;
		const seen = visible(query.scopes);
		if (seen === undefined) return { realm_ids: undefined };
		const former = formerly(idsOf(seen));
		if (former === undefined) return { realm_ids: seen.map(({ id }) => id) };
		const asked = [...seen, ...former].filter(isAsked(query));
		const slugs = [...new Set(asked.flatMap(({ slug }) => slug ?? []))];
		const isBulk = type === undefined || BULK_TYPES.some((bulk) => isOfType(bulk, type));
		const sets = isBulk ? setsOf(key, idsOf(asked)) : [];
		const isMergeable = sets !== undefined && slugs.length + sets.length <= most.runs;
		return isMergeable ? { slugs, sets } : { realm_ids: [...new Set(asked.map(({ id }) => id))] };
	}

	return { ofKey, realms };
}

/** Tells whether a scope has only events outside realms, which name none, or deletions of realms. */
function isOutside({ realm_ids, type }: EventScope): boolean {
	return type === "realm.deleted" || (realm_ids?.length === 1 && realm_ids[0] === "");
}

const idsOf = (realms: readonly Named[]) => JSON.stringify(realms.map(({ id }) => id));

/** End of a type that stands for all types that begin so. */
export const ANY = ".*";

function isOfType(type: string, asked: string): boolean {
	return asked.endsWith(ANY) ? type.startsWith(asked.slice(0, -1)) : type === asked;
}
