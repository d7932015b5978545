import type { Database } from "better-sqlite3";
import { openReader } from "./open.ts";

/** Rows of a database that nobody writes, as they are: nothing is verified. */
export interface RawRows {
	/** Lists the columns of a table. */
	columnsOf(table: string): readonly string[];
	rowsOf(table: string): IterableIterator<Readonly<Record<string, unknown>>>;
	/** Returns the last number that a secret got, also if that secret is gone; undefined before the first. */
	lastSecret(): number | undefined;
	/** Returns the sealed tip; undefined where there is none. */
	tip(): Buffer | undefined;
	close(): void;
}

/** Opens a database file to read its rows. */
export function openRawRows(file: string): RawRows {
	const db = openReader(file, "long");
	return {
		columnsOf: (table) => columnNames(db, table),
		rowsOf: (table) =>
			db.prepare(`SELECT ${columnNames(db, table).join(", ")} FROM ${table}`).iterate() as IterableIterator<
				Record<string, unknown>
			>,
		lastSecret: () =>
			db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'secret'").pluck().get() as number | undefined,
		tip: () => db.prepare("SELECT sealed FROM tip").pluck().get() as Buffer | undefined,
		close: () => void db.close(),
	};
}

/** Lists the stored columns of a table, in their order. */
export function columnNames(db: Database, table: string): readonly string[] {
	return (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
}
