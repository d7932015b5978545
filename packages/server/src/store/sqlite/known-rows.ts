import type { RowValue } from "../../crypto/row-macs.ts";
import { coveredColumns, type RowTable } from "../row-kinds.ts";
import { KEYS } from "./row-guard.ts";

/** Rows remembered, of some 600 bytes each: a megabyte. */
const MAX_KNOWN = 2048;

/** Tells whether a row fits its MACs. */
type Verify = (row: readonly RowValue[]) => boolean;

/**
 * Lists the columns of rows that are compared: all that their MACs cover, the MACs, and the keys that rows are verified under, for which SQLite asks once.
 * @param tables each with the name that the statement gives it; the first one's key is the first column
 */
export function comparedColumns(tables: Partial<Record<RowTable, string>>): string[] {
	const named = Object.entries(tables) as [RowTable, string][];
	const covered = named.flatMap(([table, as]) => coveredColumns(table).map((name) => `${as}.${name}`));
	return [...covered, `hex(${named.map(([, as]) => `${as}.mac`).join(" || ")})`, `(SELECT ${KEYS})`];
}

/**
 * Makes a function that verifies rows. A row that has not changed since its MACs fitted needs no MAC: comparing it takes a tenth of the time.
 * @param compared number of columns, at the beginning of a row, that are compared; the first one finds the row
 * @param isSound verifies a row by its MACs
 * @param most rows remembered
 */
export function knownRows(compared: number, isSound: Verify, most = MAX_KNOWN): Verify {
	const known = new Map<RowValue | undefined, RowValue[]>();
	return (row) => {
		const before = known.get(row[0]);
		if (before?.every((value, at) => value === row[at])) return true;
		if (!isSound(row)) return false;
		if (known.size >= most) known.clear();
		known.set(row[0], row.slice(0, compared));
		return true;
	};
}
