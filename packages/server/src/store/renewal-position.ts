import type { RowValue } from "../crypto/row-macs.ts";
import { ROW_KINDS, type RowTable } from "./row-kinds.ts";

/** Rows whose MACs are renewed in one step, which takes 5 ms. */
export const ROWS_A_STEP = 100;

const TABLES = Object.keys(ROW_KINDS) as RowTable[];

/** Columns of the key of the last row that was looked at. Bytes are in hexadecimal, in an array. */
type RowKeyText = (string | number | [hex: string])[];

/** Reads where to go on: a table, and the key of its row before; no key at the table's beginning. @param position empty at the beginning of all */
export function readPosition(position: string): { table: RowTable; key: RowValue[] } {
	const [table, ...after] = JSON.parse(position || startOf(TABLES[0])) as [RowTable, ...RowKeyText];
	return { table, key: after.map((value) => (Array.isArray(value) ? Buffer.from(value[0], "hex") : value)) };
}

/** Writes where to go on. @param last the key of the row before; undefined behind the table's last row. @returns empty after the last table */
export function nextPosition(table: RowTable, last: readonly RowValue[] | undefined): string {
	if (last === undefined) return startOf(TABLES[TABLES.indexOf(table) + 1]);
	return JSON.stringify([table, ...last.map((value) => (Buffer.isBuffer(value) ? [value.toString("hex")] : value))]);
}

function startOf(table: RowTable | undefined): string {
	return table === undefined ? "" : JSON.stringify([table]);
}
