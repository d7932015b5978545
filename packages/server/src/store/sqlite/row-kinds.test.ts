import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { columnsOf, OTHER_TABLES, ROW_KINDS, type RowTable } from "../row-kinds.ts";
import { migrate } from "./migrate.ts";

const db = new Database(":memory:");
migrate(db, "");
const tables = db
	.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	.pluck()
	.all() as string[];

test("every table has rows that authenticate themselves, or a reason why not", () => {
	assert.deepEqual(new Set([...Object.keys(ROW_KINDS), ...Object.keys(OTHER_TABLES)]), new Set(tables));
});

test("every column of rows that authenticate themselves is covered, or has a reason why it grants nothing", () => {
	for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
		const columns = db.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table) as string[];
		const declared = [...columnsOf(table), "mac"];
		assert.deepEqual(new Set(declared), new Set(columns), table);
		assert.equal(declared.length, columns.length, table);
	}
});

test("the columns that find a row are those that make it unique", () => {
	for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
		const unique = db
			.prepare('SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial')
			.pluck()
			.all(table)
			.map((index) => db.prepare("SELECT name FROM pragma_index_info(?)").pluck().all(index));
		const primary = db.prepare("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk").pluck().all(table);
		assert.ok(
			[primary, ...unique].some((columns) => columns.join() === ROW_KINDS[table].key.join()),
			table,
		);
	}
});
