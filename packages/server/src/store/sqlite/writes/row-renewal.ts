import type { Database } from "better-sqlite3";
import type { RowValue } from "../../../crypto/row-macs.ts";
import { nextPosition, ROWS_A_STEP, readPosition } from "../../renewal-position.ts";
import { ROW_KINDS, type RowTable } from "../../row-kinds.ts";
import { rowText } from "../row-text.ts";
import { createStatements } from "../statements.ts";

/** Bytes of a key's id, with which a MAC begins. */
const KEY_ID_BYTES = 8;

/** Authenticates rows with the active key that another one authenticated. Statements are prepared late: their functions come with the keys. */
export function createRenewal(db: Database) {
	const prepare = createStatements(db);
	const findActive = "SELECT id FROM main.keyring WHERE purpose = 'rows' AND realm_id = '' AND state = 'active'";
	return {
		/** Takes the next rows of a table, in the order of their keys. @returns the next position; empty after the last row of all tables */
		renew(position: string): string {
			const { table, key } = readPosition(position);
			const active = prepare(findActive).pluck().get();
			const rows = prepare(pageOf(table, key.length > 0))
				.raw()
				.all(active, ...key, ROWS_A_STEP) as Found[];
			const update = prepare(updateOf(table));
			for (const [isCurrent, ...values] of rows) if (isCurrent !== 1) update.run(...values);
			const last = rows.length < ROWS_A_STEP ? undefined : rows.at(-1);
			return nextPosition(table, last?.slice(1));
		},
		/** Tells whether the sums count a row of a key. */
		isCounted: (key: string) => prepare("SELECT row_key_counts(?)").pluck().get(key) === 1,
	};
}

/** Whether a row has a MAC of the active key, and the columns of its own key. */
type Found = [isCurrent: number | null, ...key: RowValue[]];

function pageOf(table: RowTable, isAfter: boolean): string {
	const { key } = ROW_KINDS[table];
	const columns = key.join(", ");
	const after = isAfter ? `WHERE (${columns}) > (${key.map(() => "?").join(", ")})` : "";
	return `SELECT substr(mac, 1, ${KEY_ID_BYTES}) = ?, ${columns} FROM main.${table} ${after} ORDER BY ${columns} LIMIT ?`;
}

function updateOf(table: RowTable): string {
	const isRow = ROW_KINDS[table].key.map((column) => `${column} = ?`).join(" AND ");
	return `UPDATE main.${table} SET mac = row_renewed('${table}', mac, ${rowText(table)}) WHERE ${isRow}`;
}
