import { setImmediate as nextTurn } from "node:timers/promises";
import { type RowMacs, type RowValue, rowTextOf } from "../../crypto/row-macs.ts";
import { rowAltered } from "../errors.ts";
import { columnsOf, coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../row-kinds.ts";
import type { RowLedger } from "../row-ledger.ts";
import type { Sql } from "./connection.ts";
import type { StoredRows } from "./stored-rows.ts";

/** Rows of the tables whose rows have MACs. A condition is SQL over the table's columns, with `$1` and so on for its values. */
export interface Rows {
	/**
	 * Reads the rows that meet a condition and fit their MACs. The condition may end with an order and a limit.
	 * @throws AppError when one of a table whose altered rows are refused does not fit
	 */
	verified<Table extends RowTable>(
		table: Table,
		condition: string,
		values?: readonly unknown[],
	): Promise<StoredRows[Table][]>;
	/**
	 * Reads the columns of such rows that their MACs cover, and others: a list needs no values.
	 * @param others columns and expressions, as SQL
	 */
	briefly<Table extends RowTable, Others extends object>(
		table: Table,
		others: string,
		condition: string,
		values?: readonly unknown[],
	): Promise<(Omit<StoredRows[Table], "value"> & Others)[]>;
	/** Reads the rows that meet a condition, each with whether another program altered it. */
	checked<Table extends RowTable>(
		table: Table,
		condition: string,
		values?: readonly unknown[],
	): Promise<(StoredRows[Table] & { altered: boolean })[]>;
	/** Reads the rows that meet a condition, whatever their MACs are. */
	stored<Table extends RowTable>(
		table: Table,
		condition: string,
		values?: readonly unknown[],
	): Promise<StoredRows[Table][]>;
	/** Counts the rows that meet a condition, whatever their MACs are. */
	count(table: RowTable, condition: string, values?: readonly unknown[]): Promise<number>;
	/** Tells whether a row meets a condition, whatever its MAC is. */
	has(table: RowTable, condition: string, values?: readonly unknown[]): Promise<boolean>;
}

/** Changes of such rows, each with its MAC. The server makes a row's text itself, of the values that it sends: nothing in the database has a say in what is signed. */
export interface RowChanges extends Rows {
	insert<Table extends RowTable>(table: Table, row: StoredRows[Table]): Promise<void>;
	/**
	 * Changes columns of the rows that meet a condition.
	 * @param changes may depend on the columns of a row that its MAC covers
	 * @returns how many
	 */
	update<Table extends RowTable>(
		table: Table,
		changes: Partial<StoredRows[Table]> | ((before: StoredRows[Table]) => Partial<StoredRows[Table]>),
		condition: string,
		values?: readonly unknown[],
	): Promise<number>;
	/** Removes the rows that meet a condition. @returns how many */
	remove(table: RowTable, condition: string, values?: readonly unknown[]): Promise<number>;
}

type StoredRow = Record<string, unknown> & { mac: Buffer | null };

/** Rows verified in one turn of the event loop, in 2 to 5 ms: an environment may have 100,000. */
const VERIFIED_AT_ONCE = 400;

/** Reads rows under the keys of the moment. */
export function createRows(sql: Sql, macs: Pick<RowMacs, "fits">): Rows {
	const read = (table: RowTable, columns: string, condition: string, values?: readonly unknown[]) =>
		sql.rows<StoredRow>(`SELECT ${columns}, mac FROM ${table} WHERE ${condition}`, values);
	const fitting = async (table: RowTable, found: readonly StoredRow[]) => {
		const rows = [];
		for (const [index, { mac, ...row }] of found.entries()) {
			if (index > 0 && index % VERIFIED_AT_ONCE === 0) await nextTurn();
			if (macs.fits(mac, textOf(table, row))) rows.push(row);
			else if (kindOf(table).altered === "refused") throw rowAltered();
		}
		return rows as never;
	};
	return {
		verified: async (table, condition, values) => fitting(table, await read(table, allOf(table), condition, values)),
		briefly: async (table, others, condition, values) =>
			fitting(table, await read(table, `${coveredOf(table)}, ${others}`, condition, values)),
		checked: async (table, condition, values) =>
			(await read(table, allOf(table), condition, values)).map(({ mac, ...row }) => ({
				...row,
				altered: !macs.fits(mac, textOf(table, row)),
			})) as never,
		stored: async (table, condition, values) =>
			(await read(table, allOf(table), condition, values)).map(({ mac: _, ...row }) => row) as never,
		async count(table, condition, values) {
			const [found] = await sql.rows<{ total: number }>(
				`SELECT count(*) AS total FROM ${table} WHERE ${condition}`,
				values,
			);
			return found?.total ?? 0;
		},
		has: async (table, condition, values) =>
			(await sql.rows(`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`, values)).length > 0,
	};
}

/** Changes rows within the running transaction. @param ledger undefined where no row gets a MAC */
export function createRowChanges(sql: Sql, rows: Rows, ledger: () => RowLedger | undefined): RowChanges {
	return {
		...rows,
		async insert(table, row) {
			// Whatever else the caller's object has is not for the database.
			const columns = columnsOf(table).filter((column) => column in row);
			const mac = ledger()?.enter(table, textOf(table, row as Values)) ?? null;
			const places = [...columns, "mac"].map((_, index) => `$${index + 1}`).join(", ");
			await sql.run(`INSERT INTO ${table} (${[...columns, "mac"].join(", ")}) VALUES (${places})`, [
				...columns.map((column) => (row as Values)[column]),
				mac,
			]);
		},
		async update(table, changes, condition, values) {
			const found = await sql.rows<StoredRow>(
				`SELECT ${coveredOf(table)}, mac FROM ${table} WHERE ${condition}`,
				values,
			);
			for (const { mac, ...before } of found) {
				const own = (typeof changes === "function" ? changes(before as never) : changes) as Values;
				await replace(sql, table, before, { ...own, mac: macAfter(ledger(), table, mac, before, own) });
			}
			return found.length;
		},
		async remove(table, condition, values) {
			const gone = await sql.rows<StoredRow>(
				`DELETE FROM ${table} WHERE ${condition} RETURNING ${coveredOf(table)}, mac`,
				values,
			);
			for (const { mac, ...row } of gone) ledger()?.leave(table, mac, textOf(table, row));
			return gone.length;
		},
	};
}

/** Makes the MAC of a row after a change; one that its change does not concern stays. */
function macAfter(ledger: RowLedger | undefined, table: RowTable, mac: Buffer | null, before: Values, changes: Values) {
	const covered = coveredColumns(table);
	if (!Object.keys(changes).some((column) => covered.includes(column))) return mac;
	return ledger?.change(table, mac, textOf(table, before), textOf(table, { ...before, ...changes })) ?? null;
}

const allOf = (table: RowTable) => columnsOf(table).join(", ");
const coveredOf = (table: RowTable) => coveredColumns(table).join(", ");

/** Replaces columns of one row, which its key finds. */
async function replace(sql: Sql, table: RowTable, row: Values, changes: Values): Promise<void> {
	const { key } = kindOf(table);
	const columns = Object.keys(changes);
	const set = columns.map((column, index) => `${column} = $${index + 1}`).join(", ");
	const isRow = key.map((column, index) => `${column} = $${columns.length + index + 1}`).join(" AND ");
	const values = [...Object.values(changes), ...key.map((column) => row[column])];
	await sql.run(`UPDATE ${table} SET ${set} WHERE ${isRow}`, values);
}

type Values = Record<string, unknown>;

const kindOf = (table: RowTable): RowKind => ROW_KINDS[table];

/** Writes the text of a row that its MAC covers, the same as on SQLite, which has no type for true and false. */
export function textOf(table: RowTable, row: Values): string {
	const values = coveredColumns(table).map((column) => row[column] as RowValue | boolean | undefined);
	return rowTextOf(
		table,
		values.map((value) => (typeof value === "boolean" ? Number(value) : (value ?? null))),
	);
}
