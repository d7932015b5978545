import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import type { RowTable } from "../../row-kinds.ts";
import { sql } from "../drizzle.ts";
import { verified } from "../row-guard.ts";

/**
 * A connection that only reads. Two rules for questions of every request: prepare them once, because a query built per request
 * costs seventeen times as much; and join no tables, because this build of SQLite prepares a join again whenever a parameter is
 * bound, which costs five times as much. A subquery that finds one row does the same work.
 */
export type ReadConnection = BetterSQLite3Database<Record<string, unknown>>;

/** Names a table whose MACs are not checked, with the name of its view: for counts, which grant nothing. */
export const unverified = (table: RowTable) => sql.raw(`${table} AS ${verified(table)}`);

/** Prepares a statement when it is first used: a start uses few of them, and each takes 0.1 ms to build. */
export function lazy<Prepared>(prepare: () => Prepared): () => Prepared {
	let prepared: Prepared | undefined;
	return () => {
		prepared ??= prepare();
		return prepared;
	};
}
