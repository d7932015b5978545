import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import {
	emptyIndex,
	emptyIndexesOf,
	insertOf,
	isRow,
	kindOf,
	openGuarded,
	sampleOf,
	TABLES,
	transact,
} from "../../testing/guarded-rows.ts";
import { coveredColumns, type RowTable } from "../row-kinds.ts";

/** Returns the answer to a read of an altered row. */
const ofAltered = (table: RowTable) => (kindOf(table).altered === "absent" ? 0 : "row_altered");
const isRead = (table: RowTable) => kindOf(table).altered !== "unread";

/** A database for tests that put back what they alter: to open one takes longer than such a test. */
const shared = await openGuarded({ after });

/** Puts the rows of a table back after the test. @returns the shared database */
function toAlter(t: TestContext, table: RowTable) {
	const { attacker, said } = shared;
	attacker.exec(`CREATE TEMP TABLE kept AS SELECT * FROM main.${table}`);
	t.after(() => {
		attacker.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM temp.kept; DROP TABLE temp.kept`);
		assert.deepEqual(said(), []);
	});
	return shared;
}

test("rows that the server wrote, changed and deleted fit their MACs and the tip", async (t) => {
	const { writer, write, said, seen } = await openGuarded(t);
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
		test(`${table}.${column} changed in the file grants nothing, hides nothing and is noticed`, (t) => {
			const { attacker, said, seen } = toAlter(t, table);
			attacker.exec(
				`UPDATE ${table} SET ${column} = ${sampleOf(attacker, table, column, 3)} WHERE ${isRow(attacker, table, 1)}`,
			);
			assert.deepEqual(said(), [sum, `rows of ${table}`]);
			const number = kindOf(table).key.includes(column) ? undefined : 1;
			if (isRead(table) && number !== undefined) assert.equal(seen(table, number), ofAltered(table));
			if (isRead(table)) assert.equal(seen(table, 2), 1);
		});
	}

	test(`a row of ${table} inserted with another row's MAC grants nothing and is noticed`, (t) => {
		const { attacker, said, seen } = toAlter(t, table);
		attacker.exec(insertOf(attacker, table, 3));
		attacker.exec(
			`UPDATE ${table} SET mac = (SELECT mac FROM ${table} WHERE ${isRow(attacker, table, 1)}) WHERE ${isRow(attacker, table, 3)}`,
		);
		assert.deepEqual(said(), [`rows of ${table}`]);
		if (isRead(table)) assert.equal(seen(table, 3), ofAltered(table));
	});

	test(`a row of ${table} deleted from the file is noticed`, (t) => {
		const { attacker, said } = toAlter(t, table);
		attacker.exec(`DELETE FROM ${table} WHERE ${isRow(attacker, table, 1)}`);
		assert.deepEqual(said(), [sum]);
	});

	test(`a row of ${table} put back with its once-valid MAC is noticed`, async (t) => {
		const { attacker, write, said, seen } = await openGuarded(t);
		attacker.exec(`CREATE TEMP TABLE kept AS SELECT * FROM main.${table} WHERE ${isRow(attacker, table, 1)}`);
		write(`DELETE FROM ${table} WHERE ${isRow(attacker, table, 1)}`);
		assert.deepEqual(said(), []);
		attacker.exec(`INSERT INTO ${table} SELECT * FROM temp.kept`);
		assert.deepEqual(said(), [sum]);
		if (isRead(table)) assert.equal(seen(table, 1), 1, "the sum alone shows it");
	});

	test(`a row of ${table} that was altered stays so when the server changes it`, async (t) => {
		const { writer, attacker, write, said } = await openGuarded(t);
		const [column = ""] = coveredColumns(table).slice(-1);
		attacker.exec(`UPDATE ${table} SET mac = zeroblob(40) WHERE ${isRow(attacker, table, 1)}`);
		write(`UPDATE ${table} SET ${column} = ${sampleOf(writer, table, column, 3)} WHERE ${isRow(writer, table, 1)}`);
		assert.deepEqual(said(), [sum, `rows of ${table}`]);
	});
}

test("a trigger that another program adds while the server runs gets no MAC for what it writes", async (t) => {
	const { writer, attacker, write, said } = await openGuarded(t);
	attacker.exec(`CREATE TRIGGER promote AFTER INSERT ON session BEGIN ${insertOf(writer, "binding", 7)}; END`);
	write(insertOf(writer, "session", 7));
	assert.equal(attacker.prepare("SELECT mac FROM binding WHERE id = 'id 7'").pluck().get(), null);
	assert.deepEqual(said(), ["rows of session", "rows of binding"]);
});

test("a schema that another program wrote again, and left as it was, is no alteration", async (t) => {
	const { writer, attacker, write, said } = await openGuarded(t);
	attacker.exec("VACUUM");
	write(insertOf(writer, "session", 7));
	assert.deepEqual(said(), []);
});

test("an index that lacks rows of its table is noticed", async (t) => {
	const { attacker, said } = await openGuarded(t);
	const indexes = attacker
		.prepare("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
		.all() as { name: string; tbl_name: RowTable }[];
	// The samples of secrets are deleted ones, which their index does not have.
	const named = indexes.filter(({ tbl_name }) => TABLES.includes(tbl_name) && tbl_name !== "secret");
	assert.ok(named.length > 5);
	const found = new Set<string>();
	for (const { name } of named) {
		emptyIndex(attacker, name);
		for (const fault of said()) found.add(fault);
	}
	assert.deepEqual(found, new Set(named.map(({ tbl_name }) => `an index of ${tbl_name}`)));
});

test("an index that lacks numbers of versions, and would shorten a history, is noticed", async (t) => {
	const { attacker, said } = await openGuarded(t);
	emptyIndexesOf(attacker, "secret_version");
	attacker.exec("REINDEX secret_version_by_end");
	assert.deepEqual(said(), ["an index of secret_version"]);
	attacker.exec("REINDEX secret_version");
	assert.deepEqual(said(), []);
	attacker.exec("DROP INDEX secret_version_by_end");
	assert.deepEqual(said(), ["an index of secret_version"]);
});

test("a log that was cut, and a tip that was taken away, put back or exchanged, are noticed", async (t) => {
	const { writer, chain, keeper, attacker, said } = await openGuarded(t);
	const event = { timestamp: "", type: "encrypt", actor: "", realm_id: "", realm: "", data: {} } as const;
	attacker.exec("CREATE TEMP TABLE kept AS SELECT * FROM main.tip");
	transact(writer, { ...keeper, seal: () => undefined }, () => chain.append(event));
	assert.deepEqual(said(), ["the end of the audit log"]);
	attacker.exec("DELETE FROM tip");
	assert.deepEqual(said(), ["the tip"]);
	attacker.exec("INSERT INTO tip VALUES (1, zeroblob(200))");
	assert.deepEqual(said(), ["the tip"]);
});

test("a second tip is noticed, wherever it is", async (t) => {
	const { attacker, said } = await openGuarded(t);
	attacker.pragma("ignore_check_constraints = ON");
	for (const id of [0, 2]) {
		attacker.exec(`INSERT INTO tip SELECT ${id}, sealed FROM tip`);
		assert.deepEqual(said(), ["the tip"]);
		attacker.exec(`DELETE FROM tip WHERE id = ${id}`);
		assert.deepEqual(said(), []);
	}
});

test("changes that a transaction rolled back are not in the sums", async (t) => {
	const { writer, keeper, said } = await openGuarded(t);
	assert.throws(() =>
		transact(writer, keeper, () => {
			writer.exec(insertOf(writer, "binding", 5));
			throw new Error("no");
		}),
	);
	transact(writer, keeper, () => writer.exec(insertOf(writer, "binding", 6)));
	assert.deepEqual(said(), []);
});
