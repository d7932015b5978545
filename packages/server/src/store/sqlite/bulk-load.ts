import Database from "better-sqlite3";
import { addAllBlocks } from "./audit-blocks.ts";
import { migrate } from "./migrate.ts";
import { columnNames } from "./raw-rows.ts";

/** A bulk load: a new database that receives the rows of another store. */
export interface BulkLoad {
	/** Lists the columns of a table. */
	columnsOf(table: string): readonly string[];
	add(table: string, row: Readonly<Record<string, unknown>>): void;
	/** Sets the last number of a secret, so that no later secret gets a number twice, as AUTOINCREMENT does. */
	setLastSecret(id: number): void;
	/** Commits the rows, and the blocks of the log. */
	finish(): void;
	close(): void;
}

/**
 * Begins a bulk load into an empty file. Nobody uses the database before it is complete, so it needs neither a journal nor synchronous writes.
 * @throws Error of SQLite, also when there is no such file
 */
export function beginBulkLoad(file: string, now: string): BulkLoad {
	const db = new Database(file, { fileMustExist: true });
	db.pragma("journal_mode = OFF");
	db.pragma("synchronous = OFF");
	migrate(db, now);
	// Tables come one after another, and rows refer to others in any of them.
	db.pragma("foreign_keys = OFF");
	db.exec("BEGIN");
	const tables = new Map<string, ReturnType<typeof prepareTable>>();
	const prepared = (name: string) => {
		const table = tables.get(name) ?? prepareTable(db, name);
		tables.set(name, table);
		return table;
	};
	return {
		columnsOf: (table) => prepared(table).columns,
		add(table, row) {
			const { columns, insert } = prepared(table);
			insert.run(columns.map((column) => storedValue(row[column])));
		},
		setLastSecret(id) {
			db.exec("DELETE FROM sqlite_sequence WHERE name = 'secret'");
			db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('secret', ?)").run(id);
		},
		finish() {
			addAllBlocks(db);
			db.exec("COMMIT");
		},
		close: () => void db.close(),
	};
}

function prepareTable(db: Database.Database, table: string) {
	const columns = columnNames(db, table);
	const places = columns.map(() => "?").join(", ");
	return { columns, insert: db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`) };
}

/** SQLite has no type for true and false. */
const storedValue = (value: unknown) => (typeof value === "boolean" ? Number(value) : value);
