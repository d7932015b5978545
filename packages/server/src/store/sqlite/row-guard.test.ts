import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createRowMacs } from "../../crypto/row-macs.ts";
import { AppError } from "../../errors.ts";
import { makeFolder } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../row-kinds.ts";
import { migrate } from "./migrate.ts";
import { believed, guardReads } from "./row-guard.ts";
import { findMisfits, keepTip, type TipKeeper } from "./tip.ts";
import { openChain } from "./writes/audit.ts";

const MACS = createRowMacs([{ id: Buffer.alloc(8, 1), bytes: Buffer.alloc(32, 2) }], createTestSystem().randomBytes);
const TABLES = Object.keys(ROW_KINDS) as RowTable[];
const kindOf = (table: RowTable): RowKind => ROW_KINDS[table];

/** A database that one connection writes guarded, one reads guarded, and one alters as another program does. */
async function setUp(t: TestContext) {
	const file = join(await makeFolder(t), "svc.db");
	const open = () => {
		const db = new Database(file);
		t.after(() => db.close());
		for (const pragma of ["foreign_keys = OFF", "ignore_check_constraints = ON", "trusted_schema = OFF"])
			db.pragma(pragma);
		return db;
	};
	const writer = open();
	migrate(writer, "");
	writer.pragma("foreign_keys = OFF");
	const keeper = keepTip(writer, openChain(writer), () => MACS);
	const [reader, attacker] = [open(), open()];
	guardReads(reader, () => MACS);
	/** Writes in one transaction, as a batch does. */
	const write = (sql: string) => transact(writer, keeper, () => writer.exec(sql));
	for (const table of TABLES) for (const number of [1, 2]) write(insertOf(writer, table, number));
	/** Names what does not fit. */
	const said = () => Object.values(findMisfits(reader, MACS, ["access", "content"])).flat();
	/** Counts a row as a read sees it, or returns the refusal. */
	const seen = (table: RowTable, number: number) => {
		try {
			return reader
				.prepare(`SELECT count(*) FROM ${believed(table)} WHERE ${isRow(writer, table, number)}`)
				.pluck()
				.get();
		} catch (error) {
			if (error instanceof AppError && error.code === "row_altered") return error.code;
			throw error;
		}
	};
	return { writer, keeper, attacker, write, said, seen };
}

function transact(db: Database.Database, keeper: TipKeeper, work: () => unknown): void {
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
function sampleOf(db: Database.Database, table: string, column: string, number: number): string {
	const type = db.prepare("SELECT type FROM pragma_table_info(?) WHERE name = ?").pluck().get(table, column);
	if (type === "INTEGER") return String(number);
	return type === "BLOB" ? `CAST('${column} ${number}' AS BLOB)` : `'${column} ${number}'`;
}

function insertOf(db: Database.Database, table: RowTable, number: number): string {
	const columns = [...coveredColumns(table), ...Object.keys(kindOf(table).free)];
	const values = columns.map((column) => sampleOf(db, table, column, number));
	return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values.join(", ")})`;
}

const isRow = (db: Database.Database, table: RowTable, number: number) =>
	kindOf(table)
		.key.map((column) => `${column} = ${sampleOf(db, table, column, number)}`)
		.join(" AND ");

/** Returns the answer to a read of an altered row. */
const ofAltered = (table: RowTable) => (kindOf(table).altered === "absent" ? 0 : "row_altered");
const isRead = (table: RowTable) => kindOf(table).altered !== "unread";

test("rows that the server wrote, changed and deleted fit their MACs and the tip", async (t) => {
	const { writer, write, said, seen } = await setUp(t);
	assert.deepEqual(said(), []);
	for (const table of TABLES) {
		if (isRead(table)) assert.equal(seen(table, 1), 1, table);
		for (const column of coveredColumns(table)) {
			write(`UPDATE ${table} SET ${column} = ${sampleOf(writer, table, column, 3)} WHERE ${isRow(writer, table, 1)}`);
			assert.deepEqual(said(), [], `${table}.${column}`);
			write(`DELETE FROM ${table} WHERE NOT (${isRow(writer, table, 2)}); ${insertOf(writer, table, 1)}`);
		}
		write(`DELETE FROM ${table} WHERE ${isRow(writer, table, 1)}`);
	}
	assert.deepEqual(said(), []);
});

for (const table of TABLES) {
	const sum = `the sum of ${kindOf(table).sum} rows`;

	for (const column of coveredColumns(table)) {
		test(`${table}.${column} changed in the file grants nothing, hides nothing and is noticed`, async (t) => {
			const { attacker, said, seen } = await setUp(t);
			attacker.exec(
				`UPDATE ${table} SET ${column} = ${sampleOf(attacker, table, column, 3)} WHERE ${isRow(attacker, table, 1)}`,
			);
			assert.deepEqual(said(), [sum, `rows of ${table}`]);
			const number = kindOf(table).key.includes(column) ? undefined : 1;
			if (isRead(table) && number !== undefined) assert.equal(seen(table, number), ofAltered(table));
			if (isRead(table)) assert.equal(seen(table, 2), 1);
		});
	}

	test(`a row of ${table} inserted with another row's MAC grants nothing and is noticed`, async (t) => {
		const { attacker, said, seen } = await setUp(t);
		attacker.exec(insertOf(attacker, table, 3));
		attacker.exec(
			`UPDATE ${table} SET mac = (SELECT mac FROM ${table} WHERE ${isRow(attacker, table, 1)}) WHERE ${isRow(attacker, table, 3)}`,
		);
		assert.deepEqual(said(), [`rows of ${table}`]);
		if (isRead(table)) assert.equal(seen(table, 3), ofAltered(table));
	});

	test(`a row of ${table} deleted from the file is noticed`, async (t) => {
		const { attacker, said } = await setUp(t);
		attacker.exec(`DELETE FROM ${table} WHERE ${isRow(attacker, table, 1)}`);
		assert.deepEqual(said(), [sum]);
	});

	test(`a row of ${table} put back with its once-valid MAC is noticed`, async (t) => {
		const { attacker, write, said, seen } = await setUp(t);
		attacker.exec(`CREATE TEMP TABLE kept AS SELECT * FROM main.${table} WHERE ${isRow(attacker, table, 1)}`);
		write(`DELETE FROM ${table} WHERE ${isRow(attacker, table, 1)}`);
		assert.deepEqual(said(), []);
		attacker.exec(`INSERT INTO ${table} SELECT * FROM temp.kept`);
		assert.deepEqual(said(), [sum]);
		if (isRead(table)) assert.equal(seen(table, 1), 1, "the sum alone shows it");
	});

	test(`a row of ${table} that was altered stays so when the server changes it`, async (t) => {
		const { writer, attacker, write, said } = await setUp(t);
		const [column = ""] = coveredColumns(table).slice(-1);
		attacker.exec(`UPDATE ${table} SET mac = zeroblob(40) WHERE ${isRow(attacker, table, 1)}`);
		write(`UPDATE ${table} SET ${column} = ${sampleOf(writer, table, column, 3)} WHERE ${isRow(writer, table, 1)}`);
		assert.deepEqual(said(), [sum, `rows of ${table}`]);
	});
}

test("a trigger that another program adds while the server runs gets no MAC for what it writes", async (t) => {
	const { writer, attacker, write, said } = await setUp(t);
	attacker.exec(`CREATE TRIGGER promote AFTER INSERT ON session BEGIN ${insertOf(writer, "binding", 7)}; END`);
	write(insertOf(writer, "session", 7));
	assert.equal(attacker.prepare("SELECT mac FROM binding WHERE id = 'id 7'").pluck().get(), null);
	assert.deepEqual(said(), ["rows of session", "rows of binding"]);
});

test("a schema that another program wrote anew, and left as it was, is no alteration", async (t) => {
	const { writer, attacker, write, said } = await setUp(t);
	attacker.exec("VACUUM");
	write(insertOf(writer, "session", 7));
	assert.deepEqual(said(), []);
});

/** Removes every entry of an index, with its text as it was: writable_schema allows that to any program. */
function emptyIndex(db: Database.Database, name: string): void {
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

test("an index that lacks rows of its table is noticed", async (t) => {
	const { attacker, said } = await setUp(t);
	const indexes = attacker
		.prepare("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
		.all() as { name: string; tbl_name: RowTable }[];
	// The samples of secrets are deleted ones, which their index does not have; those of versions are not read.
	const without = ["secret", "secret_version"];
	const named = indexes.filter(({ tbl_name }) => TABLES.includes(tbl_name) && !without.includes(tbl_name));
	assert.ok(named.length > 5);
	const found = new Set<string>();
	for (const { name } of named) {
		emptyIndex(attacker, name);
		for (const misfit of said()) found.add(misfit);
	}
	assert.deepEqual(found, new Set(named.map(({ tbl_name }) => `an index of ${tbl_name}`)));
});

test("a log that was cut, and a tip that was taken away, put back or exchanged, are noticed", async (t) => {
	const { writer, keeper, attacker, said } = await setUp(t);
	const chain = openChain(writer);
	const event = { timestamp: "", type: "encrypt", actor: "", realm_id: "", realm: "", data: {} } as const;
	attacker.exec("CREATE TEMP TABLE kept AS SELECT * FROM main.tip");
	transact(writer, { ...keeper, seal: () => undefined }, () => chain.append(event));
	assert.deepEqual(said(), ["the end of the audit log"]);
	attacker.exec("DELETE FROM tip");
	assert.deepEqual(said(), ["the tip"]);
	attacker.exec("INSERT INTO tip VALUES (1, zeroblob(200))");
	assert.deepEqual(said(), ["the tip"]);
});

test("what a transaction took back is not in the sums", async (t) => {
	const { writer, keeper, said } = await setUp(t);
	assert.throws(() =>
		transact(writer, keeper, () => {
			writer.exec(insertOf(writer, "binding", 5));
			throw new Error("no");
		}),
	);
	transact(writer, keeper, () => writer.exec(insertOf(writer, "binding", 6)));
	assert.deepEqual(said(), []);
});
