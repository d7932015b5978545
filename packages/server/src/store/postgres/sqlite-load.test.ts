import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { createRowMacs } from "../../crypto/row-macs.ts";
import { system } from "../../system.ts";
import { digestOf, fillSqlite } from "../../testing/crossing-rows.ts";
import { makeFolder, ROW_KEY } from "../../testing/store.ts";
import { openRawRows } from "../sqlite/raw-rows.ts";
import { openSnapshot } from "../sqlite/snapshots.ts";
import { connect, SCHEMA } from "./connection.ts";
import { checkIntegrity } from "./integrity.ts";
import { migrate } from "./migrate.ts";
import { COPIED_TABLES, copyToSqlite } from "./sqlite-copy.ts";
import { isEmpty, loadFromSqlite } from "./sqlite-load.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
const NOW = "2030-01-01T00:00:00.000Z";
const MACS = createRowMacs([ROW_KEY], system.randomBytes);
let server: Promise<Postgres> | undefined;
let made = 0;
after(async () => (await server)?.stop());

/** Makes a database of SQLite with rows, and a new one of PostgreSQL without. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const { host, port, user } = await server;
	const database = `load_${++made}`;
	await runSql({ host, port, user }, "postgres", `CREATE DATABASE ${database}`);
	const address = { host, port, user, database, password: "" };
	const connection = await connect(address);
	t.after(() => connection.close());
	const file = join(await makeFolder(t), "svc.db");
	fillSqlite(file);
	const load = async () => {
		const findAlterations = await migrate(connection, NOW);
		const source = openRawRows(file);
		try {
			await loadFromSqlite(connection, { source, macs: MACS, findAlterations });
		} finally {
			source.close();
		}
	};
	return { address, connection, file, load, runSql: (text: string) => runSql({ host, port, user }, database, text) };
}

/** Describes every row and value of a file, its tip, and the last number of a secret. */
function contentsOf(file: string): Record<string, unknown> {
	const rows = openRawRows(file);
	try {
		const tables = COPIED_TABLES.map((table) => [table, digestOf(rows.columnsOf(table), [...rows.rowsOf(table)])]);
		return { ...Object.fromEntries(tables), tip: rows.tip()?.toString("hex"), last: rows.lastSecret() };
	} finally {
		rows.close();
	}
}

test("no value changes on the way into PostgreSQL and back: rows, MACs, log, tip, numbers", options, async (t) => {
	const { address, connection, file, load } = await setUp(t);
	const before = contentsOf(file);
	for (const table of COPIED_TABLES) assert.doesNotMatch(String(before[table]), /^0 /, table);
	await load();
	const source = openRawRows(file);
	t.after(() => source.close());
	for (const table of COPIED_TABLES) {
		const columns = source.columnsOf(table);
		const rows = await connection.rows<Record<string, unknown>>(`SELECT ${columns.join(", ")} FROM ${table}`);
		assert.equal(digestOf(columns, rows), before[table], table);
	}
	const found = await connection.transaction("BEGIN", () => checkIntegrity(connection, MACS, ["access", "content"]));
	assert.deepEqual(found, { access: [], content: [] });
	const back = join(await makeFolder(t), "svc.db");
	writeFileSync(back, "", { mode: 0o600 });
	await copyToSqlite(address, back, NOW);
	assert.deepEqual(contentsOf(back), before);
	const copy = openSnapshot(back);
	t.after(() => copy.close());
	assert.deepEqual(await copy.inspect(), []);
	assert.deepEqual(await copy.checkIntegrity([ROW_KEY]), { access: [], content: [] });
});

test("a store continues from what was loaded: the log is whole, and no number is given twice", options, async (t) => {
	const { address, load, runSql } = await setUp(t);
	await load();
	const { store } = await openPostgresTestStore(t, address, address.database);
	assert.deepEqual(await store.health.alterations(), []);
	const { status, events } = await store.audit.verify([]);
	assert.deepEqual([status, events], ["intact", (await store.audit.head()).events]);
	const next = async (sequence: string) => Number((await runSql(`SELECT nextval('${sequence}') AS id`))[0]?.id);
	assert.equal(await next("svc.secret_id"), 1001);
	assert.equal(await next("svc.audit_key_id_seq"), 10);
	assert.equal(await next("svc.audit_key_set_id_seq"), 6);
});

test("a database that holds anything is refused and stays as it is", options, async (t) => {
	const { connection, load, runSql } = await setUp(t);
	await migrate(connection, NOW);
	assert.equal(await isEmpty(connection), true);
	await runSql(`INSERT INTO ${SCHEMA}.meta (name, value) VALUES ('a', 'b')`);
	assert.equal(await isEmpty(connection), false);
	await assert.rejects(load(), /not empty/);
	assert.deepEqual(await runSql(`SELECT count(*)::int AS rows FROM ${SCHEMA}.account`), [{ rows: 0 }]);
	await runSql(`DROP SCHEMA ${SCHEMA} CASCADE`);
	await load();
});

test("a schema that another program altered receives nothing", options, async (t) => {
	const { connection, load, runSql } = await setUp(t);
	await migrate(connection, NOW);
	await runSql(`CREATE FUNCTION public.lie() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name = 'lie'; RETURN NEW; END $$;
		CREATE TRIGGER lies BEFORE INSERT ON ${SCHEMA}.account FOR EACH ROW EXECUTE FUNCTION public.lie()`);
	await assert.rejects(load(), /trigger account\.lies/);
	assert.equal(await isEmpty(connection), true);
});

test("a row that PostgreSQL cannot hold, or one without its MAC, leaves nothing behind", options, async (t) => {
	for (const [change, says] of [
		["UPDATE account SET name = 'a' || char(0)", /a row of account .*U\+0000/],
		["UPDATE lease SET mac = NULL", /rows of lease|sum of content/],
	] as const) {
		const { connection, file, load } = await setUp(t);
		const db = new DatabaseSync(file);
		db.exec(change);
		db.close();
		await assert.rejects(load(), says);
		assert.equal(await isEmpty(connection), true);
		assert.equal(connection.isLost(), false);
	}
});
