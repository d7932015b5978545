import type { RowValue } from "../crypto/row-macs.ts";

/** Writes the text of a row that its MAC covers, as the adapter has SQLite write it. */
export function rowTextOf(table: string, values: readonly RowValue[]): string {
	return JSON.stringify([table, values.map((value) => (Buffer.isBuffer(value) ? [value.toString("hex")] : value))]);
}
