import type { Database } from "better-sqlite3";

const LAST = `SELECT max(
	coalesce((SELECT max(id) FROM main.secret), 0), coalesce((SELECT max(seq) FROM main.sqlite_sequence WHERE name = 'secret'), 0))`;

/** A number that no server reaches by itself. After the largest possible one, SQLite reports a full disk. */
const UNREACHED = 2 ** 40;

/** Tells whether the next secret gets a number, and many after it do: another program may have written any as the last one. */
export function hasNextNumber(db: Database): boolean {
	return Number(db.prepare(LAST).pluck().get()) < UNREACHED;
}

/** Numbers the next secret after the last one that is there. */
export function restoreNextNumber(db: Database): void {
	db.exec("UPDATE main.sqlite_sequence SET seq = (SELECT coalesce(max(id), 0) FROM main.secret) WHERE name = 'secret'");
}
