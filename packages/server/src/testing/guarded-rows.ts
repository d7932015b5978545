import { join } from "node:path";
import { createRowMacs } from "../crypto/row-macs.ts";
import { AppError } from "../errors.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../store/row-kinds.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { guardReads, verified } from "../store/sqlite/row-guard.ts";
import { checkIntegrity, keepTip, openChain, type TipKeeper } from "../store/sqlite/tip.ts";
import { copyEmptyDatabase } from "./empty-database.ts";
import { type Cleanup, makeFolder } from "./store.ts";
import { createTestSystem } from "./system.ts";

type Database = ReturnType<typeof openWriter>;

/** The key of the rows. */
export const KEY = { id: Buffer.alloc(8, 1), bytes: Buffer.alloc(32, 2) };
/** A key that may take its place. */
export const NEXT_KEY = { id: Buffer.alloc(8, 3), bytes: Buffer.alloc(32, 4) };
const MACS = createRowMacs([KEY, NEXT_KEY], createTestSystem().randomBytes);
/** Tables whose rows authenticate themselves. */
export const TABLES = Object.keys(ROW_KINDS) as RowTable[];
/** Finds the declaration of a table. */
export const kindOf = (table: RowTable): RowKind => ROW_KINDS[table];

/** A database that one connection writes guarded, one reads guarded, and one alters as another program does. */
export async function openGuarded(cleanup: Cleanup) {
	const file = join(await makeFolder(cleanup), "svc.db");
	copyEmptyDatabase(file);
	const open = () => {
		const db = openWriter(file);
		cleanup.after(async () => void db.close());
		for (const pragma of ["foreign_keys = OFF", "ignore_check_constraints = ON", "trusted_schema = OFF"])
			db.pragma(pragma);
		return db;
	};
	const writer = open();
	const chain = openChain(writer);
	const keeper = keepTip(writer, chain, MACS);
	const [reader, attacker] = [open(), open()];
	guardReads(reader, MACS);
	/** Writes in one transaction, as a batch does. */
	const write = (sql: string) => transact(writer, keeper, () => writer.exec(sql));
	write(TABLES.flatMap((table) => [1, 2].map((number) => insertOf(writer, table, number))).join(";"));
	/** Names what does not fit, except counts: a test's statements change more of a lease than an operation does. */
	const said = () =>
		Object.values(checkIntegrity(reader, MACS, ["access", "content"]))
			.flat()
			.filter((fault) => fault !== "the counts of leases");
	/** Counts a row as a read sees it, or returns the refusal. */
	const seen = (table: RowTable, number: number) => {
		try {
			return reader
				.prepare(`SELECT count(*) FROM ${verified(table)} WHERE ${isRow(writer, table, number)}`)
				.pluck()
				.get();
		} catch (error) {
			if (error instanceof AppError && error.code === "row_altered") return error.code;
			throw error;
		}
	};
	return { writer, chain, keeper, reader, attacker, write, said, seen };
}

/** Runs work in one transaction, as a batch does. */
export function transact(db: Database, keeper: TipKeeper, work: () => unknown): void {
	const point = keeper.point();
	db.exec("BEGIN IMMEDIATE");
	try {
		keeper.begin();
		work();
		keeper.seal();
		db.exec("COMMIT");
	} catch (error) {
		db.exec("ROLLBACK");
		keeper.rewind(point);
		throw error;
	}
}

/** A value of a column's type, as SQL: another one for each number. */
export function sampleOf(db: Database, table: string, column: string, number: number): string {
	const type = db.prepare("SELECT type FROM pragma_table_info(?) WHERE name = ?").pluck().get(table, column);
	if (type === "INTEGER") return String(number);
	return type === "BLOB" ? `CAST('${column} ${number}' AS BLOB)` : `'${column} ${number}'`;
}

/** Inserts a row of a table, another one for each number. */
export function insertOf(db: Database, table: RowTable, number: number): string {
	const columns = [...coveredColumns(table), ...Object.keys(kindOf(table).free)];
	const values = columns.map((column) => sampleOf(db, table, column, number));
	return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values.join(", ")})`;
}

/** Condition of that row. */
export const isRow = (db: Database, table: RowTable, number: number) =>
	kindOf(table)
		.key.map((column) => `${column} = ${sampleOf(db, table, column, number)}`)
		.join(" AND ");

/** Puts an empty tree in the place of each index of a table, also of those that SQLite makes by itself. */
export function emptyIndexesOf(db: Database, table: RowTable): void {
	db.unsafeMode();
	const indexes = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?").pluck().all(table);
	for (const [place, name] of indexes.entries()) {
		const columns = db.prepare("SELECT name FROM pragma_index_info(?)").pluck().all(name);
		db.exec(`CREATE INDEX emptied_${place} ON ${table} (${columns.join(", ")}) WHERE 0`);
		db.pragma("writable_schema = ON");
		db.exec(`UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'emptied_${place}') WHERE name = '${name}';
			DELETE FROM sqlite_schema WHERE name = 'emptied_${place}'`);
		db.pragma("writable_schema = RESET");
	}
}

/** Removes every entry of an index, with its text as it was: writable_schema allows that to any program. */
export function emptyIndex(db: Database, name: string): void {
	db.unsafeMode();
	const sql = db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").pluck().get(name) as string;
	const setText = (text: string) => {
		db.pragma("writable_schema = ON");
		db.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = ?").run(text, name);
		db.pragma("writable_schema = RESET");
	};
	setText(/ WHERE /.test(sql) ? sql.replace(/ WHERE .*$/s, " WHERE 0") : `${sql} WHERE 0`);
	db.exec(`REINDEX ${name}`);
	setText(sql);
}
