import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { createRowMacs, type RowValue, rowTextOf } from "../../crypto/row-macs.ts";
import { insertOf, isRow, KEY, openGuarded, sampleOf, transact } from "../../testing/guarded-rows.ts";
import { anEvent } from "../../testing/rows.ts";
import { coveredColumns, type RowTable } from "../row-kinds.ts";
import { NAMED_TABLES, namingColumns } from "../row-names.ts";
import { compareNames } from "./name-comparison.ts";

/** A database whose log names two rows of each table. */
async function setUp(t: TestContext) {
	const { writer, chain, keeper, attacker, reader } = await openGuarded(t);
	/** Writes with an event, as an operation does, and returns the event's number. */
	const write = (sql: string) => {
		transact(writer, keeper, () => {
			writer.exec(sql);
			chain.append(anEvent());
		});
		return chain.tip().seq;
	};
	write("");
	/** Names what differs from the log, with the event that says so. */
	const said = (rows_a_pass?: number, keys = [KEY]) =>
		compareNames(reader, keys, rows_a_pass).misnamed.map(({ name, problem, by }) =>
			[name.split("/")[0], problem, by?.seq].join(" "),
		);
	return { writer, attacker, reader, chain, keeper, write, said };
}

const othersOf = (table: RowTable) => coveredColumns(table).filter((column) => !namingColumns(table).includes(column));

/** Changes of each column, each in a row of its own. */
const changesOf = (table: RowTable) =>
	othersOf(table).map((column, index) => ({ column, row: 10 + index, value: 1000 + index }));

type Changed = readonly { column: string; seq: number }[];

/** Names the column in place of its event. */
const saidOf = (said: readonly string[], changes: Changed) =>
	said
		.map((line) => line.replace(/\d+$/, (seq) => changes.find((one) => String(one.seq) === seq)?.column ?? seq))
		.sort();

const changedIn = (table: RowTable, changes: Changed) =>
	changes.map(({ column }) => `${table} changed ${column}`).sort();

test("rows are as the events say that made, changed and ended them", async (t) => {
	const { writer, write, said } = await setUp(t);
	for (const table of NAMED_TABLES) {
		const [column] = othersOf(table);
		if (column !== undefined)
			write(`UPDATE ${table} SET ${column} = ${sampleOf(writer, table, column, 3)} WHERE ${isRow(writer, table, 1)}`);
		write(`DELETE FROM ${table} WHERE ${isRow(writer, table, 2)}`);
		write(insertOf(writer, table, 4));
	}
	assert.deepEqual(said(), []);
	assert.deepEqual(said(3), [], "in several passes");
});

for (const table of NAMED_TABLES) {
	test(`a row of ${table} that no event made is named`, async (t) => {
		const { writer, attacker, said } = await setUp(t);
		attacker.exec(insertOf(writer, table, 3));
		assert.deepEqual(said(), [`${table} unknown `]);
	});

	test(`a row of ${table} is named with the event that it differs from, whichever column changes`, async (t) => {
		const { writer, attacker, write, said } = await setUp(t);
		const changes = changesOf(table).map((change) => ({ ...change, seq: write(insertOf(writer, table, change.row)) }));
		for (const { column, row, value } of changes)
			attacker.exec(
				`UPDATE ${table} SET ${column} = ${sampleOf(writer, table, column, value)} WHERE ${isRow(writer, table, row)}`,
			);
		assert.deepEqual(saidOf(said(), changes), changedIn(table, changes));
	});

	test(`a row of ${table} is named when it is put back as it was before a change, whichever column changed`, async (t) => {
		const { writer, attacker, write, said } = await setUp(t);
		const changes = changesOf(table).map(({ column, row, value }) => {
			const is = isRow(writer, table, row);
			write(insertOf(writer, table, row));
			attacker.exec(`CREATE TEMP TABLE kept_${row} AS SELECT * FROM main.${table} WHERE ${is}`);
			const seq = write(`UPDATE ${table} SET ${column} = ${sampleOf(writer, table, column, value)} WHERE ${is}`);
			return { column, row, seq };
		});
		for (const { row } of changes) {
			const isKept = namingColumns(table).map((name) => `${name} = (SELECT ${name} FROM kept_${row})`);
			attacker.exec(
				`DELETE FROM ${table} WHERE ${isKept.join(" AND ")}; INSERT INTO ${table} SELECT * FROM temp.kept_${row}`,
			);
		}
		assert.deepEqual(saidOf(said(), changes), changedIn(table, changes));
	});

	test(`a row of ${table} is named with the event that ended it when it is put back`, async (t) => {
		const { writer, attacker, write, said } = await setUp(t);
		const is = isRow(writer, table, 1);
		attacker.exec(`CREATE TEMP TABLE kept AS SELECT * FROM main.${table} WHERE ${is}`);
		const seq = write(`DELETE FROM ${table} WHERE ${is}`);
		attacker.exec(`INSERT INTO ${table} SELECT * FROM temp.kept`);
		assert.deepEqual(said(), [`${table} ended ${seq}`]);
		assert.deepEqual(said(2), [`${table} ended ${seq}`], "in several passes");
	});

	test(`a row of ${table} is named with the event that made it when it is gone`, async (t) => {
		const { writer, attacker, write, said } = await setUp(t);
		const seq = write(insertOf(writer, table, 3));
		attacker.exec(`DELETE FROM ${table} WHERE ${isRow(writer, table, 3)}`);
		assert.deepEqual(said(), [`${table} missing ${seq}`]);
	});
}

test("rows of many are named in events of a hundred, and one that an operation changes without an event in one of its own", async (t) => {
	const { writer, chain, keeper, said } = await setUp(t);
	const before = chain.tip().seq;
	transact(writer, keeper, () => {
		for (let number = 10; number < 260; number++) writer.exec(insertOf(writer, "session", number));
		chain.finish();
	});
	assert.equal(chain.tip().seq, before + 3);
	assert.deepEqual(said(), []);
	const events = writer.prepare("SELECT type, data FROM audit_event WHERE seq > ? ORDER BY seq").raw().all(before);
	const counts = (events as string[][]).map(([type, data = ""]) => [type, JSON.parse(data).rows.split(" ").length]);
	assert.deepEqual(
		counts,
		[100, 100, 50].map((count) => ["rows.changed", count]),
	);
});

test("a row whose MAC is by a newer key is as the log says; one changed since is not, while its former key is there", async (t) => {
	const { writer, attacker, said } = await setUp(t);
	const newer = { id: Buffer.alloc(8, 7), bytes: Buffer.alloc(32, 8) };
	const columns = coveredColumns("binding");
	const renew = () => {
		const row = attacker.prepare(`SELECT ${columns.join(", ")} FROM binding WHERE ${isRow(writer, "binding", 1)}`);
		const mac = createRowMacs([newer], randomBytes).make(rowTextOf("binding", row.raw().get() as RowValue[]));
		attacker.prepare(`UPDATE binding SET mac = ? WHERE ${isRow(writer, "binding", 1)}`).run(mac);
	};
	renew();
	assert.deepEqual(said(undefined, [newer, KEY]), []);
	attacker.exec(`UPDATE binding SET role = 'admin' WHERE ${isRow(writer, "binding", 1)}`);
	renew();
	assert.deepEqual(said(undefined, [newer, KEY]), ["binding changed 1"]);
});

test("a row with a newer MAC that ends or changes right after the rows were read is as the log said until then", async (t) => {
	const { writer, attacker, reader, write, said } = await setUp(t);
	const newer = { id: Buffer.alloc(8, 7), bytes: Buffer.alloc(32, 8) };
	for (const table of ["keyring", "binding"] as const) {
		const columns = coveredColumns(table);
		const row = attacker.prepare(`SELECT ${columns.join(", ")} FROM ${table} WHERE ${isRow(writer, table, 1)}`);
		const mac = createRowMacs([newer], randomBytes).make(rowTextOf(table, row.raw().get() as RowValue[]));
		attacker.prepare(`UPDATE ${table} SET mac = ? WHERE ${isRow(writer, table, 1)}`).run(mac);
	}
	const { transaction } = reader;
	let isRead = false;
	// The method is generic: its stand-in answers what it answers.
	reader.transaction = ((work: () => unknown) => () => {
		const found = transaction.call(reader, work)();
		if (!isRead) write(`DELETE FROM keyring WHERE ${isRow(writer, "keyring", 1)}`);
		if (!isRead) write(`UPDATE binding SET role = 'admin' WHERE ${isRow(writer, "binding", 1)}`);
		isRead = true;
		return found;
	}) as typeof transaction;
	assert.deepEqual(said(undefined, [newer, KEY]), []);
	assert.ok(isRead);
});

test("an adoption stands for rows that were gone before it, and names the others", async (t) => {
	const { writer, attacker, chain, write, said } = await setUp(t);
	attacker.exec(`DELETE FROM keyring WHERE ${isRow(writer, "keyring", 1)}`);
	attacker.exec(`DELETE FROM binding WHERE ${isRow(writer, "binding", 1)}`);
	assert.deepEqual(new Set(said()), new Set(["keyring missing 1", "binding missing 1"]));
	write(`UPDATE account SET disabled_at = 'then' WHERE ${isRow(writer, "account", 1)}`);
	const [name, fingerprint] = ["binding/id%202", "0101010100000000"];
	chain.append(anEvent({ type: "rows.adopted", data: { rows: `${name}=${fingerprint}` } }));
	assert.deepEqual(said(), [`binding changed ${chain.tip().seq}`]);
});

test("a change that a transaction took back is named nowhere", async (t) => {
	const { writer, chain, keeper, write, said } = await setUp(t);
	assert.throws(() =>
		transact(writer, keeper, () => {
			writer.exec(insertOf(writer, "binding", 5));
			throw new Error("no");
		}),
	);
	write("");
	assert.equal(writer.prepare("SELECT data FROM audit_event WHERE seq = ?").pluck().get(chain.tip().seq), "{}");
	assert.deepEqual(said(), []);
});
