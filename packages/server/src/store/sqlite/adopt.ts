import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../audit/model.ts";
import type { KeyRow } from "../../crypto/keyring-model.ts";
import { createRowMacs, type RowKey, type RowValue } from "../../crypto/row-macs.ts";
import { writeDurably } from "../../durable-file.ts";
import { FatalError } from "../../errors.ts";
import { system } from "../../system.ts";
import { ROW_KINDS, type RowTable } from "../row-kinds.ts";
import { fingerprintOf, nameOf, namingColumns, writeNamed } from "../row-names.ts";
import { countLeases } from "./lease-counts.ts";
import { migrate, schemaOf } from "./migrate.ts";
import { ROW_MACS } from "./migrations/0012-row-macs.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openReader, openWriter } from "./open.ts";
import { countRealms } from "./realm-counts.ts";
import { signAll } from "./row-guard.ts";
import { hasNextNumber, restoreNextNumber } from "./secret-numbers.ts";
import { checkIntegrity, keepTip, openChain } from "./tip.ts";
import { INSERT_KEY } from "./writes/keys.ts";

/** Name of the file that says that the server believed a data directory's database: it was adopted, or had MACs from its first row on. */
const MARK = "adopted";

/** Rows named in one event. */
const ROWS_AN_EVENT = 1000;

/** Keys of a database that is adopted. */
export interface AdoptionKeys {
	/** Keys of rows, the active one first. */
	keys: RowKey[];
	/** The row of the first key, for a database from before. */
	added: KeyRow | undefined;
}

/** Tells whether a database is from before its rows authenticated themselves. */
export function isBeforeMacs(file: string): boolean {
	const db = openReader(file, "long");
	try {
		const { applied } = schemaOf(db);
		return applied > 0 && applied <= MIGRATIONS.findIndex(({ name }) => name === ROW_MACS.name);
	} finally {
		db.close();
	}
}

/** Brings a copy of a database up to date, to look at it. */
export function migrateCopy(file: string, now: string): void {
	const db = openWriter(file);
	try {
		migrate(db, now);
	} finally {
		db.close();
	}
}

/** Tells whether the server believed a directory's database before. */
export function wasAdopted(directory: string): boolean {
	return existsSync(join(directory, MARK));
}

/** Notes that a directory's database was adopted: another adoption must be asked for. */
export function markAdopted(directory: string, now: string): void {
	writeDurably(join(directory, MARK), `${now}\n`);
}

/**
 * Notes that rows fit their MACs: an empty database, or one from before them, that takes this one's place must be asked for, too. Not before anything is
 * stored: after a first start that was cut off, the database is still new.
 */
export function noteMacs({ directory, now }: { directory: string; now: Date }): void {
	if (!wasAdopted(directory)) markAdopted(directory, now.toISOString());
}

/**
 * Believes every row of a database as it is, in one transaction: the schema is brought up to date first, then each row gets its MAC, the tip its sums, and
 * the log the name of each row. Killed at any step, it can be done again.
 * @param keysOf finds, or makes, the keys of rows among the keys of the instance
 * @param event its facts are added to
 * @returns the number of rows
 */
export function adoptRows(file: string, keysOf: (shared: KeyRow[]) => AdoptionKeys, event: AuditEvent): number {
	const db = openWriter(file);
	try {
		migrate(db, event.timestamp);
		db.exec("BEGIN EXCLUSIVE");
		const { keys, added } = keysOf(db.prepare("SELECT * FROM keyring WHERE realm_id = ''").all() as KeyRow[]);
		if (added !== undefined) db.prepare(INSERT_KEY).run(added);
		db.exec("DELETE FROM tip");
		const macs = createRowMacs(keys, system.randomBytes);
		const chain = openChain(db);
		const keeper = keepTip(db, chain, macs);
		if (!hasNextNumber(db)) restoreNextNumber(db);
		countLeases(db);
		countRealms(db);
		signAll(db);
		let count = 0;
		for (const [table, names] of believedRows(db)) {
			count += names.length;
			chain.append({ ...event, data: { ...event.data, table, rows: names.join(" ") } });
		}
		keeper.seal();
		const [fault] = Object.values(checkIntegrity(db, macs, ["access", "content"])).flat();
		if (fault !== undefined) throw new FatalError(`the database was not adopted: ${fault} would not fit`);
		db.exec("COMMIT");
		db.pragma("wal_checkpoint(TRUNCATE)");
		return count;
	} finally {
		if (db.inTransaction) db.exec("ROLLBACK");
		db.close();
	}
}

/** Names the rows of each table, some at a time. */
function* believedRows(db: Database): Generator<[table: RowTable, names: string[]]> {
	for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
		const rows = db.prepare(`SELECT mac, ${namingColumns(table).join(", ")} FROM main.${table}`).raw();
		const names: string[] = [];
		for (const [mac, ...values] of rows.iterate() as IterableIterator<[Buffer, ...RowValue[]]>)
			names.push(writeNamed({ name: nameOf(table, values), fingerprint: fingerprintOf(mac) }));
		for (let at = 0; at < names.length; at += ROWS_AN_EVENT) yield [table, names.slice(at, at + ROWS_AN_EVENT)];
	}
}
