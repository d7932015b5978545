import type { Database } from "better-sqlite3";

const LAST = `SELECT max(
	coalesce((SELECT max(id) FROM main.secret), 0), coalesce((SELECT max(seq) FROM main.sqlite_sequence WHERE name = 'secret'), 0))`;

/** Tells whether the next secret gets a number: behind the largest one, SQLite says that the disk is full. */
export function hasNextNumber(db: Database): boolean {
	return Number(db.prepare(LAST).pluck().get()) < Number.MAX_SAFE_INTEGER;
}

/** Numbers the next secret after the last one that is there. */
export function restoreNextNumber(db: Database): void {
	db.exec("UPDATE main.sqlite_sequence SET seq = (SELECT coalesce(max(id), 0) FROM main.secret) WHERE name = 'secret'");
}
