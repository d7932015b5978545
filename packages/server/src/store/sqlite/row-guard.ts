import type { Database } from "better-sqlite3";
import type { RowMacs, RowValue } from "../../crypto/row-macs.ts";
import { rowAltered } from "../errors.ts";
import { columnsOf, coveredColumns, ROW_KINDS, type RowKind, type RowSum, type RowTable } from "../row-kinds.ts";
import { createRowLedger, type KeySums, NO_SUMS, type OnChange, type RowLedger, type RowState } from "../row-ledger.ts";
import { rowText } from "./row-text.ts";

const TABLES = Object.keys(ROW_KINDS) as RowTable[];
const kindOf = (table: RowTable): RowKind => ROW_KINDS[table];

/** The ledger of a connection's own triggers. */
export interface GuardedLedger extends Pick<RowLedger, "state" | "rewind" | "accessChanges"> {
	/** Stops signing: rows that are written from now on get no MAC. */
	stop(): void;
}

/**
 * Names the view of the rows of a table whose MACs are right. Of a table whose altered rows are refused, write `+column = ?` where no index finds
 * the column: SQLite puts the constant in place of the column, also where the MAC is compared, and would refuse every other row.
 */
export const verified = (table: RowTable) => `verified_${table}`;

/** Names the keys that a connection verifies MACs with, as SQL. */
export const KEYS = "row_keys()";

/**
 * Makes a connection's own triggers give every row that it writes its MAC, and keep the sums. They are TEMP: the file has none of them, and no trigger of
 * the file can call their function.
 */
export function guardWrites(db: Database, macs: RowMacs, start: RowState, onChange: OnChange): GuardedLedger {
	const ledger = createRowLedger(macs, start, onChange);
	define(db, "row_entered", ledger.enter);
	define(db, "row_left", ledger.leave);
	define(db, "row_changed", ledger.change);
	// Its caller, not a trigger, uses it.
	define(db, "row_renewed", ledger.renew);
	define(db, "row_key_counts", (key: string) => (ledger.isCounted(key) ? 1 : 0));
	for (const table of TABLES) db.exec(triggersOf(table));
	return {
		state: ledger.state,
		rewind: ledger.rewind,
		accessChanges: ledger.accessChanges,
		stop() {
			for (const name of ["row_entered", "row_left", "row_changed"]) define(db, name, () => null);
			// What is there already stays.
			define(db, "row_renewed", (_: RowTable, mac: RowValue) => mac);
		},
	};
}

/** Makes a function of SQL that no trigger or view of the file can call, or replaces it. */
function define(db: Database, name: string, run: (...values: never[]) => unknown): void {
	db.function(name, { directOnly: true, varargs: true }, run as (...values: unknown[]) => unknown);
}

function triggersOf(table: RowTable): string {
	const columns = coveredColumns(table);
	const isRow = kindOf(table)
		.key.map((name) => `${name} = NEW.${name}`)
		.join(" AND ");
	return `
CREATE TEMP TRIGGER ${table}_entered AFTER INSERT ON main.${table} BEGIN
  UPDATE ${table} SET mac = row_entered('${table}', ${rowText(table)}) WHERE ${isRow};
END;
CREATE TEMP TRIGGER ${table}_changed AFTER UPDATE OF ${columns.join(", ")} ON main.${table} BEGIN
  UPDATE ${table} SET mac = row_changed('${table}', OLD.mac, ${rowText(table, "OLD.")}, ${rowText(table)}) WHERE ${isRow};
END;
CREATE TEMP TRIGGER ${table}_left AFTER DELETE ON main.${table} BEGIN
  SELECT row_left('${table}', OLD.mac, ${rowText(table, "OLD.")});
END;`;
}

/** Creates a connection's views of verified rows: each leaves out, or refuses, rows whose MAC is wrong. */
export function guardReads(db: Database, macs: Pick<RowMacs, "fits" | "usual" | "names">): void {
	define(db, "row_keys", () => macs.names);
	define(db, "row_mac", macs.usual);
	define(db, "row_fits", (table: RowTable, mac: RowValue, text: string) => {
		if (macs.fits(mac, text)) return 1;
		if (kindOf(table).altered === "refused") throw rowAltered();
		return 0;
	});
	// A view is this connection's own, but query_only forbids even that.
	const isQueryOnly = db.pragma("query_only", { simple: true });
	db.pragma("query_only = OFF");
	for (const table of TABLES) if (kindOf(table).altered !== "unread") db.exec(viewOf(table));
	db.pragma(`query_only = ${isQueryOnly}`);
}

/**
 * Condition that a row of a table fits its MAC, as SQL for a connection whose reads are guarded. SQLite compares the MAC of the active key by itself:
 * handing over one text, and no bytes, takes a fifth of the time.
 */
export function fits(table: RowTable): string {
	const text = rowText(table);
	return `iif(mac = row_mac(${text}), 1, row_fits('${table}', mac, ${text}))`;
}

function viewOf(table: RowTable): string {
	const columns = columnsOf(table).join(", ");
	return `CREATE TEMP VIEW ${verified(table)} AS SELECT ${columns} FROM main.${table} WHERE ${fits(table)}`;
}

/** Sums of a database's rows, and what does not fit in each table. */
export interface Sum {
	sums: KeySums;
	/** Tables with rows whose MAC is wrong. */
	unfit: Set<RowTable>;
	/** Tables with an index that does not have the table's rows: what is looked up there may be hidden. */
	misindexed: Set<RowTable>;
	/** Tables with a dated row that is newer than the tip. */
	newer: Set<RowTable>;
}

/**
 * Sums up the rows of a database, each under the key that made its MAC, and compares their indexes with them.
 * @param newest the newest id that the tip knows; a table that is not summed up is asked for newer ones alone
 */
export function sumUp(db: Database, macs: RowMacs, which: readonly RowSum[], newest: string | undefined): Sum {
	const sums = new Map<string, Record<RowSum, bigint>>();
	const unfit = new Set<RowTable>();
	const misindexed = new Set<RowTable>();
	const newer = new Set<RowTable>();
	for (const table of TABLES) {
		const { sum, dated } = kindOf(table);
		if (!which.includes(sum)) {
			if (hasNewer(db, macs, table, newest)) newer.add(table);
			continue;
		}
		const isFound = table === "secret_version" ? versionIsIndexed(db) : "1";
		const rows = db.prepare(
			`SELECT mac, ${rowText(table)}, ${dated ?? "NULL"}, ${isFound} FROM main.${table} NOT INDEXED`,
		);
		for (const [mac, text, id, isIndexed] of rows.raw().iterate() as IterableIterator<SummedRow>) {
			if (isIndexed === 0) misindexed.add(table);
			const found = macs.signed(mac, text);
			if (found === undefined) {
				unfit.add(table);
				continue;
			}
			if (id !== null && newest !== undefined && id > newest) newer.add(table);
			const own = sums.get(found.key) ?? { ...NO_SUMS };
			own[sum] = BigInt.asUintN(256, own[sum] + found.term);
			sums.set(found.key, own);
		}
		if (!isIndexed(db, table)) misindexed.add(table);
	}
	return { sums, unfit, misindexed, newer };
}

/** A row's MAC, its text, its id if it is dated, and 0 if an index does not have it. */
type SummedRow = [mac: RowValue, text: string, id: string | null, isIndexed: 0 | 1];

/** The indexes of versions, each with the condition of a row's own entry. */
const VERSION_INDEXES = {
	sqlite_autoindex_secret_version_1:
		"entry.secret_id = secret_version.secret_id AND entry.version = secret_version.version",
	secret_version_by_end: "entry.expires_at = secret_version.expires_at",
};

/**
 * Returns the condition that the indexes of versions have a row: `integrity_check` would tell, too, but read every value. What an index has beyond the rows
 * fits no MAC.
 */
function versionIsIndexed(db: Database): string {
	const isThere = db.prepare("SELECT 1 FROM main.sqlite_schema WHERE type = 'index' AND name = ?");
	const conditions = Object.entries(VERSION_INDEXES).map(([index, isOwn]) => {
		if (isThere.get(index) === undefined) return "0";
		return `EXISTS (SELECT 1 FROM main.secret_version AS entry INDEXED BY ${index} WHERE ${isOwn} AND entry.rowid = secret_version.rowid)`;
	});
	const [byNumber, byEnd] = conditions;
	return `${byNumber} AND (expires_at IS NULL OR ${byEnd})`;
}

/** Tells whether a table has a row with a MAC that fits and an id beyond the newest one. It reads every row, but no value, because an index may hide one. */
function hasNewer(db: Database, macs: RowMacs, table: RowTable, newest: string | undefined): boolean {
	const { dated } = kindOf(table);
	if (dated === undefined || newest === undefined) return false;
	const rows = db.prepare(`SELECT mac, ${rowText(table)} FROM main.${table} NOT INDEXED WHERE ${dated} > ?`).raw();
	for (const [mac, text] of rows.iterate(newest) as IterableIterator<[RowValue, string]>)
		if (macs.signed(mac, text) !== undefined) return true;
	return false;
}

/** Finds the newest id of all dated rows. */
export function newestId(db: Database): string {
	const ids = TABLES.flatMap((table) => {
		const { dated } = kindOf(table);
		return dated === undefined ? [] : [db.prepare(`SELECT max(${dated}) FROM main.${table} NOT INDEXED`).pluck().get()];
	});
	return ids.reduce<string>((newest, id) => (typeof id === "string" && id > newest ? id : newest), "");
}

/** Tells whether the indexes of a table have its rows; of versions, each row was looked for. */
function isIndexed(db: Database, table: RowTable): boolean {
	return table === "secret_version" || db.pragma(`main.integrity_check(${table})`, { simple: true }) === "ok";
}

/** Gives every row its MAC, whatever it had: for a new database, and for one that is adopted. */
export function signAll(db: Database): void {
	for (const table of TABLES) db.exec(`UPDATE main.${table} SET mac = row_entered('${table}', ${rowText(table)})`);
}
