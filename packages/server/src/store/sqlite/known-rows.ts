import type { Database } from "better-sqlite3";
import type { RowValue } from "../../crypto/row-macs.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../row-kinds.ts";
import { KEYS, verified } from "./row-guard.ts";

/** Rows remembered, of some 600 bytes each: a megabyte. */
const MAX_KNOWN = 2048;

/** Tells whether a row may be believed, or throws. */
type Judge = (row: readonly RowValue[]) => boolean;

/** Names the keys for many rows of one statement: SQLite asks for them once. */
export const KEYS_ONCE = `(SELECT ${KEYS})`;

/**
 * Lists the columns of rows that are compared: all that their MACs cover, the MACs, and the keys that rows are believed under.
 * @param tables each with the name that the statement gives it; the first one's key is the first column
 */
export function comparedColumns(tables: Partial<Record<RowTable, string>>, keys = KEYS): string[] {
	const named = Object.entries(tables) as [RowTable, string][];
	const covered = named.flatMap(([table, as]) => {
		const { bytes = [] }: RowKind = ROW_KINDS[table];
		return coveredColumns(table).map((name) => (bytes.includes(name) ? `quote(${as}.${name})` : `${as}.${name}`));
	});
	return [...covered, `hex(${named.map(([, as]) => `${as}.mac`).join(" || ")})`, keys];
}

/**
 * Makes what judges rows: one that is as it was when its MACs fitted is believed without them. To compare it takes a tenth of the time.
 * @param compared number of columns, at the beginning of a row, that are compared; the first one finds the row
 * @param isSound judges a row by its MACs
 */
export function knownRows(compared: number, isSound: Judge): Judge {
	const known = new Map<RowValue | undefined, RowValue[]>();
	return (row) => {
		const before = known.get(row[0]);
		if (before?.every((value, at) => value === row[at])) return true;
		if (!isSound(row)) return false;
		if (known.size >= MAX_KNOWN) known.clear();
		known.set(row[0], row.slice(0, compared));
		return true;
	};
}

/** A row that may be believed: gives the values of the columns that its MAC covers. */
export type KnownRow = (column: string) => RowValue | undefined;

/** Prepares the question for one row by its key, for questions that every change asks. */
export function knownRow(db: Database, table: RowTable): (key: unknown) => KnownRow | undefined {
	const covered = coveredColumns(table);
	const compared = comparedColumns({ [table]: table });
	const isRow = `${covered[0]} = ?`;
	const find = db.prepare(`SELECT ${compared.join(", ")} FROM ${table} WHERE ${isRow}`).raw();
	const believe = db.prepare(`SELECT 1 FROM ${verified(table)} WHERE ${isRow}`).pluck();
	const judge = knownRows(compared.length, ([key]) => believe.get(key) !== undefined);
	return (key) => {
		const row = find.get(key) as RowValue[] | undefined;
		return row !== undefined && judge(row) ? (column) => row[covered.indexOf(column)] : undefined;
	};
}
