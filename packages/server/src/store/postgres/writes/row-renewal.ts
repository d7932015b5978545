import type { RowValue } from "../../../crypto/row-macs.ts";
import { nextPosition, ROWS_A_STEP, readPosition } from "../../renewal-position.ts";
import { coveredColumns, ROW_KINDS, type RowKind } from "../../row-kinds.ts";
import type { Change } from "../database.ts";
import { textOf } from "../rows.ts";

type Row = Record<string, RowValue> & { mac: Buffer | null };

/** Authenticates the next rows of a table with the active key that another one authenticated. @returns the next position */
export async function renewRows(db: Change, position: string): Promise<string> {
	const { table, key: after } = readPosition(position);
	const { key }: RowKind = ROW_KINDS[table];
	const columns = key.join(", ");
	const isAfter = after.length === 0 ? "true" : `(${columns}) > (${places(after, 0)})`;
	const rows = await db.sql.rows<Row>(
		`SELECT ${coveredColumns(table).join(", ")}, mac FROM ${table} WHERE ${isAfter} ORDER BY ${columns} LIMIT ${ROWS_A_STEP}`,
		after,
	);
	const ledger = db.ledger();
	if (ledger !== undefined) {
		const active = Buffer.from(ledger.state().active, "hex");
		for (const { mac, ...row } of rows) {
			if (mac?.subarray(0, active.length).equals(active)) continue;
			const values = key.map((column) => row[column] ?? null);
			const renewed = ledger.renew(table, mac, textOf(table, row));
			await db.sql.run(`UPDATE ${table} SET mac = $1 WHERE (${columns}) = (${places(values, 1)})`, [
				renewed,
				...values,
			]);
		}
	}
	const last = rows.length < ROWS_A_STEP ? undefined : rows.at(-1);
	return nextPosition(table, last && key.map((column) => last[column] ?? null));
}

const places = (values: readonly unknown[], given: number) =>
	values.map((_, index) => `$${given + index + 1}`).join(", ");
