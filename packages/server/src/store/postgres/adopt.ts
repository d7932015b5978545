import { type ChainEnd, createChain, GENESIS } from "../../audit/chain.ts";
import type { AuditEvent, StoredEvent } from "../../audit/model.ts";
import type { KeyRow } from "../../crypto/keyring-model.ts";
import { createRowMacs, type RowMacs, type RowValue } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import { system } from "../../system.ts";
import { columnsOf, coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../row-kinds.ts";
import { createRowLedger, noRows, type RowLedger, sealTip } from "../row-ledger.ts";
import { fingerprintOf, nameOf, namingColumns, writeNamed } from "../row-names.ts";
import type { AdoptionKeys } from "../sqlite/adopt.ts";
import { LOSS_ACCEPTED } from "../unsuitable.ts";
import { addEvents } from "./changes.ts";
import { type Column, typedColumns } from "./columns.ts";
import type { Session, Sql } from "./connection.ts";
import { everyRow } from "./cursor.ts";
import { checkIntegrity, countRealms } from "./integrity.ts";
import { CHANGES_LOCK } from "./locks.ts";
import { textOf } from "./rows.ts";

/** Rows named in one event, and signed in one statement. */
const ROWS_AN_EVENT = 1000;

/** A number that no server reaches by itself. */
const UNREACHED = 2 ** 40;

/**
 * Believes every row of a database as it is, in one transaction: each row gets its MAC, the tip its sums, and the log the name of each row. Killed at any
 * step, it can be done again.
 * @param keysOf finds, or makes, the keys of rows among the keys of the instance
 * @param event its facts are added to
 * @returns the number of rows
 */
export function adoptRows(
	session: Session,
	keysOf: (shared: KeyRow[]) => AdoptionKeys,
	event: AuditEvent,
): Promise<number> {
	return session.transaction(`BEGIN; ${CHANGES_LOCK}; SET LOCAL synchronous_commit = on`, async () => {
		const keyColumns = columnsOf("keyring").join(", ");
		const shared = await session.rows<KeyRow>(`SELECT ${keyColumns} FROM keyring WHERE realm_id = ''`);
		const { keys, added } = keysOf(shared);
		if (added !== undefined) await addKey(session, added);
		const macs = createRowMacs(keys, system.randomBytes);
		await countRealms(session);
		await numberSecrets(session);
		await session.run(ACCEPT, [LOSS_ACCEPTED, event.timestamp]);
		const count = await signAll(session, macs, event);
		const [fault] = Object.values(await checkIntegrity(session, macs, ["access", "content"])).flat();
		if (fault !== undefined) throw new FatalError(`the database was not adopted: ${fault} would not fit`);
		return count;
	});
}

/** The end of the log is believed, too: servers that have seen a later one go on from there. */
const ACCEPT = "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

async function addKey(sql: Sql, row: KeyRow): Promise<void> {
	const columns = columnsOf("keyring");
	const places = columns.map((_, index) => `$${index + 1}`).join(", ");
	const values = columns.map((column) => (row as unknown as Record<string, unknown>)[column]);
	await sql.run(`INSERT INTO keyring (${columns.join(", ")}) VALUES (${places})`, values);
}

/** Numbers the next secret after the last one that is there, unless it is: another program may have written any number. */
async function numberSecrets(sql: Sql): Promise<void> {
	const [found] = await sql.rows<{ last: number; most: number }>(
		"SELECT last_value AS last, (SELECT coalesce(max(id), 0) FROM secret) AS most FROM secret_id",
	);
	const { last = 0, most = 0 } = found ?? {};
	if (most > 0 && (last < most || last >= UNREACHED)) await sql.rows("SELECT setval('secret_id', $1)", [most]);
}

/** Gives every row its MAC, whatever it had, and writes the log's events and the tip. @returns the number of rows */
async function signAll(sql: Sql, macs: RowMacs, event: AuditEvent): Promise<number> {
	const [head = { seq: 0, hash: GENESIS }] = await sql.rows<ChainEnd>(
		"SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1",
	);
	let events: StoredEvent[] = [];
	const chain = createChain(head, (made) => void events.push(made));
	const ledger = createRowLedger(macs, noRows(macs.active), () => undefined);
	let count = 0;
	for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
		for await (const names of signTable(sql, table, ledger)) {
			count += names.length;
			chain.append({ ...event, data: { ...event.data, table, rows: names.join(" ") } });
			await addEvents(sql, events);
			events = [];
		}
	}
	const sealed = sealTip({ ...chain.tip(), rows: ledger.state() }, macs);
	await sql.run("INSERT INTO tip (sealed) VALUES ($1)", [sealed]);
	return count;
}

type Row = Record<string, RowValue>;

/** Gives the rows of a table their MACs. @returns their names, as events name them, some at a time */
async function* signTable(sql: Sql, table: RowTable, ledger: RowLedger): AsyncGenerator<string[]> {
	const { key }: RowKind = ROW_KINDS[table];
	const types = await typedColumns(sql, table);
	const columns = key.map((name) => types.find((column) => column.name === name) ?? { name, type: "text" });
	const query = `SELECT ${coveredColumns(table).join(", ")} FROM ${table}`;
	let signed: { row: Row; mac: Buffer }[] = [];
	for await (const row of everyRow<Row>(sql, `adopted_${table}`, query)) {
		signed.push({ row, mac: ledger.enter(table, textOf(table, row)) });
		if (signed.length < ROWS_AN_EVENT) continue;
		yield await keepMacs(sql, table, columns, signed);
		signed = [];
	}
	if (signed.length > 0) yield await keepMacs(sql, table, columns, signed);
}

async function keepMacs(
	sql: Sql,
	table: RowTable,
	key: readonly Column[],
	signed: readonly { row: Row; mac: Buffer }[],
): Promise<string[]> {
	const names = key.map(({ name }) => name);
	const arrays = key.map(({ type }, index) => `$${index + 2}::${type}[]`);
	await sql.run(
		`UPDATE ${table} SET mac = signed.mac FROM unnest($1::bytea[], ${arrays.join(", ")}) AS signed (mac, ${names.join(", ")})
			WHERE ${names.map((name) => `${table}.${name} = signed.${name}`).join(" AND ")}`,
		[signed.map(({ mac }) => mac), ...names.map((name) => signed.map(({ row }) => row[name]))],
	);
	const naming = namingColumns(table);
	return signed.map(({ row, mac }) =>
		writeNamed({
			name: nameOf(
				table,
				naming.map((column) => row[column] ?? null),
			),
			fingerprint: fingerprintOf(mac),
		}),
	);
}
