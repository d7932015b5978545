import type { Database } from "better-sqlite3";
import type { EventQuery } from "../../audit/event-query.ts";
import { SETS_WITH_KEY } from "./key-sets.ts";
import { realmsOf } from "./member-realms.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";
import { IN_TIME } from "./time-limit.ts";

/** Fact of an event, in the words of the index over it. */
export const fact = (name: string) => `iif(json_valid(data), data ->> '$.${name}', NULL)`;

/** Condition that an event names the key, or refers to a set of its realm that holds it. Each set is looked up by itself: a key may be in millions of them. */
export const IS_OF_KEY = `(${fact("key")} = @key OR EXISTS (
	SELECT 1 FROM audit_key_set s CROSS JOIN audit_part_in_set m ON m.set_id = s.id CROSS JOIN audit_key_in_part i ON i.part_id = m.part_id
	WHERE s.hash = ${fact("key_set")} AND s.realm_id = audit_event.realm_id AND i.key_id = (SELECT id FROM audit_key WHERE key = @key)))`;

/** Query for the events of a key. */
export type KeyQuery = EventQuery & { key: string };

/** Limits on what is looked at before the first event: runs are read in 60 ms, and so are all sets of a key. */
const MOST = { runs: 10_000, sets: 50_000 };

/** A part of the log: the index that finds it, and the condition for it, with the values. */
interface Part {
	index: string;
	condition: string;
	values: Record<string, unknown>;
}

/** The events of a key. */
export interface KeyEvents {
	/** Names the parts of the log that hold them, each event in one of these. */
	parts(query: KeyQuery): Part[];
	/** Yields their numbers below one, newest first. @throws TookTooLong, at a number below all that it yielded */
	walk(query: KeyQuery, below: number): Generator<number>;
}

/** The events of a key that name it in realms of these slugs, and those that refer to these sets: each slug and each set is a run of an index. */
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
	const merge = merger(db);
	function among(found: Among, key: string, below: number): IterableIterator<number> {
		const { index, condition, values } = partAmong(found);
		const events = `audit_event ${index} WHERE ${IN_TIME} AND ${condition} AND seq < @below`;
		const seqs = prepare(`SELECT seq FROM ${events} ORDER BY seq DESC`).pluck();
		return seqs.iterate({ key, ...values, below }) as IterableIterator<number>;
	}
	return {
		parts(query) {
			const found = find(query);
			return "slugs" in found ? partsOf(found) : [partAmong(found)];
		},
		*walk(query, below) {
			const found = find(query);
			yield* "slugs" in found ? merge(found, query.key, below) : among(found, query.key, below);
		},
	};
}

function partsOf({ slugs, sets }: Runs): Part[] {
	return [
		{
			index: "INDEXED BY audit_event_by_key",
			condition: `${fact("key")} = @key AND realm IN (SELECT value FROM json_each(@slugs))`,
			values: { slugs: JSON.stringify(slugs) },
		},
		{
			index: "INDEXED BY audit_event_by_key_set",
			condition: `${fact("key_set")} IN (SELECT value FROM json_each(@sets))`,
			values: { sets: JSON.stringify(sets) },
		},
	];
}

function partAmong({ realm_ids }: Among): Part {
	if (realm_ids === undefined) return { index: "NOT INDEXED", condition: IS_OF_KEY, values: {} };
	const [only, ...others] = realm_ids;
	if (only !== undefined && others.length === 0) {
		const condition = `realm_id = @only AND ${IS_OF_KEY}`;
		return { index: "INDEXED BY audit_event_by_realm", condition, values: { only } };
	}
	const condition = `realm_id IN (SELECT value FROM json_each(@among)) AND ${IS_OF_KEY}`;
	return { index: "NOT INDEXED", condition, values: { among: JSON.stringify(realm_ids) } };
}

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
function finder(db: Database, most: typeof MOST): (query: KeyQuery) => Runs | Among {
	const prepare = createStatements(db);

	/** Names the realms that the query can see; undefined for all. */
	function visible({ scopes }: EventQuery): Named[] | undefined {
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

	return (query) => {
		const { key, realm, realm_id, type } = query;
		const seen = visible(query);
		if (seen === undefined) return { realm_ids: undefined };
		const former = formerly(idsOf(seen));
		if (former === undefined) return { realm_ids: seen.map(({ id }) => id) };
		const asked = [...seen, ...former].filter(
			({ id, slug }) => realm === undefined || slug === realm || id === realm_id,
		);
		const slugs = [...new Set(asked.flatMap(({ slug }) => slug ?? []))];
		const isBulk = type === undefined || BULK_TYPES.some((bulk) => isOfType(bulk, type));
		const sets = isBulk ? setsOf(key, idsOf(asked)) : [];
		const isMergeable = sets !== undefined && slugs.length + sets.length <= most.runs;
		return isMergeable ? { slugs, sets } : { realm_ids: [...new Set(asked.map(({ id }) => id))] };
	};
}

const idsOf = (realms: readonly Named[]) => JSON.stringify(realms.map(({ id }) => id));

/** End of a type that stands for all types that begin so. */
export const ANY = ".*";

function isOfType(type: string, asked: string): boolean {
	return asked.endsWith(ANY) ? type.startsWith(asked.slice(0, -1)) : type === asked;
}

/** Numbers of events, each smaller than the one before. */
interface Run {
	/** Numbers that are known, the smallest first. */
	ahead: number[];
	/** Reads the next numbers below one. */
	below(seq: number, limit: number): number[];
	/** How many to read next. */
	limit: number;
}

/** Highest number of events of one run read at once. */
const MOST_AT_ONCE = 1024;

const OWN = `SELECT seq FROM audit_event INDEXED BY audit_event_by_key WHERE ${fact("key")} = @key AND realm = @realm AND seq < @below ORDER BY seq DESC LIMIT @limit`;
const BULK = `SELECT seq FROM audit_event INDEXED BY audit_event_by_key_set WHERE ${fact("key_set")} = @set AND seq < @below ORDER BY seq DESC LIMIT @limit`;

/** Makes the function that merges the runs of a key's events. */
function merger(db: Database): (runs: Runs, key: string, below: number) => Generator<number> {
	const prepare = createStatements(db);

	function run(text: string, about: object): Run {
		const below = (seq: number, limit: number) =>
			(
				prepare(text)
					.pluck()
					.all({ ...about, below: seq, limit }) as number[]
			).reverse();
		return { ahead: [], below, limit: 1 };
	}

	/** Reads a run's next numbers, behind the one that was yielded last. @returns false when there is none */
	function refill(one: Run, below: number): boolean {
		prepare("SELECT in_time(?)").get(below - 1);
		one.ahead = one.below(below, one.limit);
		one.limit = Math.min(MOST_AT_ONCE, one.limit * 4);
		return one.ahead.length > 0;
	}

	return function* merge({ slugs, sets }, key, below) {
		const all = [...slugs.map((realm) => run(OWN, { key, realm })), ...sets.map((set) => run(BULK, { set }))];
		const runs = all.filter((one) => refill(one, below));
		runs.sort((one, other) => head(one) - head(other));
		for (let newest = runs.pop(); newest !== undefined; newest = runs.pop()) {
			const seq = newest.ahead.pop() ?? 0;
			yield seq;
			if (newest.ahead.length > 0 || refill(newest, seq)) runs.splice(indexFor(newest, runs), 0, newest);
		}
	};
}

const head = ({ ahead }: Run) => ahead.at(-1) ?? 0;

/** Finds the index for a run among others that are in order of their heads. */
function indexFor(run: Run, runs: readonly Run[]): number {
	let [from, to] = [0, runs.length];
	while (from < to) {
		const middle = (from + to) >> 1;
		if (head(runs[middle] as Run) < head(run)) from = middle + 1;
		else to = middle;
	}
	return from;
}
