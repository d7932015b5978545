import type { RowMacs } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import type { RawRows } from "../sqlite/raw-rows.ts";
import { typedColumns } from "./columns.ts";
import { SCHEMA, type Session, type Sql } from "./connection.ts";
import { INDEXED_FIELDS, indexedFieldsOf } from "./event-index.ts";
import { checkIntegrity } from "./integrity.ts";
import { CHANGES_LOCK } from "./locks.ts";
import type { FindAlterations } from "./migrate.ts";
import { COPIED_TABLES } from "./sqlite-copy.ts";

/** Tables that a server writes before there is anything to keep: its schema's history, servers, and their claims. */
const ALWAYS_WRITTEN = ["migration", "node", "lease_claim"];

/** Rows and bytes sent at a time, whichever is reached first. */
const PORTION = { rows: 500, bytes: 1024 * 1024 };

/** SQLSTATE of a text that PostgreSQL cannot hold. */
const ODD_TEXT = "22021";

/** Tells whether a database holds nothing of svc's: there is no schema yet, or its tables have no rows. */
export async function isEmpty(sql: Sql): Promise<boolean> {
	const tables = await sql.rows<{ name: string }>(
		`SELECT relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '${SCHEMA}' AND relkind = 'r'`,
	);
	for (const { name } of tables) {
		if (ALWAYS_WRITTEN.includes(name)) continue;
		if ((await sql.rows(`SELECT FROM ${SCHEMA}."${name.replaceAll('"', '""')}" LIMIT 1`)).length > 0) return false;
	}
	return true;
}

/** Sources of a load. */
export interface LoadOptions {
	source: RawRows;
	/** Keys of the source's rows. */
	macs: RowMacs;
	findAlterations: FindAlterations;
}

/**
 * Fills an empty database with the rows, the log and the tip of one of SQLite, as they are, MACs and hashes included. One transaction: an interruption
 * leaves the database empty. Before it ends, rows, log and schema are compared with the tip.
 * @throws FatalError when the database is not empty, was altered by another program, or cannot hold a row
 */
export async function loadFromSqlite(session: Session, { source, macs, findAlterations }: LoadOptions): Promise<void> {
	await session.transaction(`BEGIN; ${CHANGES_LOCK}; SET LOCAL synchronous_commit = on`, async () => {
		if (!(await isEmpty(session))) throw notEmpty();
		const altered = await findAlterations(session);
		if (altered.length > 0)
			throw new FatalError(`another program altered the database's schema (${altered.join(", ")}): use an empty one`);
		for (const table of await inOrder(session)) await loadTable(session, source, table);
		const sealed = source.tip();
		if (sealed !== undefined) await session.run("INSERT INTO tip (sealed) VALUES ($1)", [sealed]);
		await setNumbers(session, source.lastSecret());
		const [fault] = Object.values(await checkIntegrity(session, macs, ["access", "content"])).flat();
		if (fault !== undefined) throw new FatalError(`nothing was restored: ${fault} would not fit`);
	});
}

/** Creates the error for a database that holds something. */
export function notEmpty(): FatalError {
	return new FatalError(
		`the database that database_url names is not empty: create another one, or remove all that it holds with DROP SCHEMA ${SCHEMA} CASCADE`,
	);
}

const REFERENCES = `SELECT source.relname AS from, target.relname AS to FROM pg_constraint
	JOIN pg_class source ON source.oid = conrelid JOIN pg_class target ON target.oid = confrelid
	WHERE contype = 'f' AND connamespace = '${SCHEMA}'::regnamespace`;

/** Orders the tables so that each comes after those that it refers to. */
async function inOrder(sql: Sql): Promise<Set<string>> {
	const references = await sql.rows<{ from: string; to: string }>(REFERENCES);
	const ordered = new Set<string>();
	const add = (table: string) => {
		if (ordered.has(table)) return;
		for (const { from, to } of references) if (from === table && to !== table) add(to);
		ordered.add(table);
	};
	COPIED_TABLES.forEach(add);
	return ordered;
}

type Row = Readonly<Record<string, unknown>>;

async function loadTable(sql: Sql, source: RawRows, table: string): Promise<void> {
	const columns = await typedColumns(sql, table);
	const names = columns.map(({ name }) => name).join(", ");
	const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");
	// The numbers of sets of keys are their own.
	const insert = `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})`;
	const send = async (rows: readonly Row[]) => {
		if (rows.length === 0) return;
		const values = columns.map(({ name, type }) => rows.map((row) => storedValue(row[name], type)));
		await sql.run(insert, values).catch((error: unknown) => explainRow(error, table));
	};
	for (const rows of inPortions(source.rowsOf(table))) await send(table === "audit_event" ? rows.map(indexed) : rows);
}

/** SQLite has no type for true and false. */
const storedValue = (value: unknown, type: string) => (type === "boolean" && value !== null ? value === 1 : value);

/** Adds the fields that events are found by: SQLite reads them from the data. */
function indexed(event: Row): Row {
	const fields = indexedFieldsOf(String(event.data));
	return { ...event, ...Object.fromEntries(INDEXED_FIELDS.map((name, index) => [name, fields[index]])) };
}

function* inPortions(rows: Iterable<Row>): Generator<Row[]> {
	let portion: Row[] = [];
	let bytes = 0;
	for (const row of rows) {
		portion.push(row);
		for (const value of Object.values(row))
			bytes += typeof value === "string" || Buffer.isBuffer(value) ? value.length : 0;
		if (portion.length < PORTION.rows && bytes < PORTION.bytes) continue;
		yield portion;
		[portion, bytes] = [[], 0];
	}
	yield portion;
}

function explainRow(error: unknown, table: string): never {
	const { code } = error as { code?: unknown };
	if (code !== ODD_TEXT) throw error;
	throw new FatalError(
		`nothing was restored: a row of ${table} has a text with the character U+0000, which PostgreSQL cannot hold; restore the backup without database_url instead`,
		undefined,
		{ cause: error },
	);
}

const NUMBERED = ["audit_key", "audit_key_part", "audit_key_set"];

/** Continues the numbers of secrets and of sets of keys after the last ones. */
async function setNumbers(sql: Sql, last_secret: number | undefined): Promise<void> {
	if (last_secret !== undefined && last_secret > 0) await sql.rows("SELECT setval('secret_id', $1)", [last_secret]);
	for (const table of NUMBERED)
		await sql.rows(
			`SELECT setval(pg_get_serial_sequence('${SCHEMA}.${table}', 'id'), max(id)) FROM ${table} HAVING max(id) > 0`,
		);
}
