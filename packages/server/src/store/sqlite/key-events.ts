import type { Database } from "better-sqlite3";
import type { EventQuery } from "../../audit/event-query.ts";
import { SETS_WITH_KEY } from "./key-sets.ts";
import { realmsOf } from "./member-realms.ts";
import { believed } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

/** Fact of an event, in the words of the index over it. */
export const fact = (name: string) => `iif(json_valid(data), data ->> '$.${name}', NULL)`;

/** Types of the events that refer to a set of keys. */
const BULK_TYPES = ["secret.list", "secret.sync", "secret.diff"];

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
const NEXT_REALM = `SELECT min(realm) FROM audit_event INDEXED BY audit_event_by_key WHERE ${fact("key")} = @key AND realm > @realm`;
const OF_NO_REALM = `SELECT '' FROM audit_event INDEXED BY audit_event_by_key WHERE ${fact("key")} = @key AND realm = '' LIMIT 1`;

const SLUGS_BEFORE = `SELECT DISTINCT realm_id AS id, iif(json_valid(data), data ->> '$.was', NULL) AS slug FROM audit_event INDEXED BY audit_event_restored
	WHERE type = 'realm.restored' AND realm_id IN (SELECT value FROM json_each(@ids))`;

/** A realm by a slug that it has or had. */
interface Named {
	id: string;
	slug: string | null;
}

/**
 * Makes the walk through the events of a key: those that name it, and those of bulk reads whose set holds it. It looks into the realms that the query can
 * see, each of whose runs is in order already, and merges them: a page costs a look per run, however many events there are.
 */
export function keyEvents(db: Database) {
	const prepare = createStatements(db);

	/** Names the realms that the query can see, by the slugs that they have and had; undefined for all. */
	function visible({ scopes }: EventQuery): Named[] | undefined {
		if (scopes.some(({ member_id }) => member_id === undefined)) return undefined;
		const own = prepare(`SELECT id, slug FROM ${believed("realm")} WHERE id IN (${realmsOf("@member_id")})`);
		const now = scopes.flatMap(({ member_id }) => own.all({ member_id }) as Named[]);
		return [...now, ...formerly(now.map(({ id }) => id))];
	}

	/** Names realms by the slugs that they had before they were restored. */
	function formerly(ids: readonly string[]): Named[] {
		return prepare(SLUGS_BEFORE).all({ ids: JSON.stringify(ids) }) as Named[];
	}

	function realmsWith(key: string): string[] {
		const realms = prepare(OF_NO_REALM).pluck().all({ key }) as string[];
		for (let realm: string | null = ""; ; realms.push(realm)) {
			realm = prepare(NEXT_REALM).pluck().get({ key, realm }) as string | null;
			if (realm === null) return realms;
		}
	}

	/** Names the slugs whose events a query finds that can see all realms. */
	function slugsOf({ key, realm, realm_id }: EventQuery & { key: string }): (string | null)[] {
		if (realm === undefined) return realmsWith(key);
		return [realm, ...formerly(realm_id === undefined ? [] : [realm_id]).map(({ slug }) => slug)];
	}

	function runsOf(query: EventQuery & { key: string }): Run[] {
		const { key, realm, realm_id, type } = query;
		const seen = visible(query)?.filter(({ id, slug }) => realm === undefined || slug === realm || id === realm_id);
		const slugs = new Set(seen?.map(({ slug }) => slug) ?? slugsOf(query));
		const own = [...slugs].map((slug) => run(OWN, { key, realm: slug }));
		if (type !== undefined && !BULK_TYPES.some((bulk) => isOfType(bulk, type))) return own;
		const inRealms = seen === undefined ? "" : "AND s.realm_id IN (SELECT value FROM json_each(@ids))";
		const ids = JSON.stringify(seen?.map(({ id }) => id) ?? []);
		const sets = prepare(`SELECT DISTINCT s.hash FROM ${SETS_WITH_KEY} ${inRealms}`)
			.pluck()
			.all({ key, ids }) as string[];
		return [...own, ...sets.map((set) => run(BULK, { set }))];
	}

	function run(text: string, about: object): Run {
		const below = (seq: number, limit: number) =>
			(
				prepare(text)
					.pluck()
					.all({ ...about, below: seq, limit }) as number[]
			).reverse();
		return { ahead: [], below, limit: 1 };
	}

	/** Yields the numbers of a key's events below one, newest first. */
	return function* walk(query: EventQuery & { key: string }, below: number): Generator<number> {
		const runs = runsOf(query).filter((one) => refill(one, below));
		runs.sort((one, other) => head(one) - head(other));
		for (let newest = runs.pop(); newest !== undefined; newest = runs.pop()) {
			const seq = newest.ahead.pop() ?? 0;
			yield seq;
			if (newest.ahead.length > 0 || refill(newest, seq)) runs.splice(indexFor(newest, runs), 0, newest);
		}
	};
}

const head = ({ ahead }: Run) => ahead.at(-1) ?? 0;

/** Reads a run's next numbers. @returns false when there is none */
function refill(run: Run, below: number): boolean {
	run.ahead = run.below(below, run.limit);
	run.limit = Math.min(MOST_AT_ONCE, run.limit * 4);
	return run.ahead.length > 0;
}

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

/** End of a type that stands for all types that begin so. */
export const ANY = ".*";

function isOfType(type: string, asked: string): boolean {
	return asked.endsWith(ANY) ? type.startsWith(asked.slice(0, -1)) : type === asked;
}
