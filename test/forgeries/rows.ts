import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { columnsOf, coveredColumns, ROW_KINDS, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import { type Forgery, KEPT } from "./trial.ts";
import type { ForgedWorld } from "./world.ts";

type Row = Record<string, SQLInputValue>;

/** Columns that find a row. */
const keyOf = (table: RowTable): readonly string[] => ROW_KINDS[table].key;

const isThis = (table: RowTable) =>
	keyOf(table)
		.map((column) => `${column} = ?`)
		.join(" AND ");

const findIn = (database: DatabaseSync, table: RowTable): Row[] =>
	database.prepare(`SELECT * FROM main.${table} ORDER BY ${keyOf(table).join(", ")}`).all() as Row[];

const keyValues = (table: RowTable, row: Row): SQLInputValue[] => keyOf(table).map((column) => row[column] ?? null);

/** Writes one column of a row, whatever the row's key. A row that is in the way gives way. */
function set(database: DatabaseSync, table: RowTable, row: Row, column: string, value: SQLInputValue): void {
	database
		.prepare(`UPDATE OR REPLACE main.${table} SET ${column} = ? WHERE ${isThis(table)}`)
		.run(value, ...keyValues(table, row));
}

/** Another value of the same type, as somebody would write it who wants more, longer or nothing. */
function another(value: SQLInputValue): SQLInputValue {
	if (value === null) return "2020-01-01T00:00:00.000Z";
	if (typeof value === "number" || typeof value === "bigint") return Number(value) + 1000;
	if (typeof value === "string") return value === "" ? "x" : `${value.slice(0, -1)}${value.endsWith("x") ? "y" : "x"}`;
	const bytes = Buffer.from(value as Uint8Array);
	bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
	return bytes;
}

/** A null is text in most columns, and a number in the few that say so. */
function anotherIn(database: DatabaseSync, table: RowTable, column: string, value: SQLInputValue): SQLInputValue {
	const type = database.prepare("SELECT type FROM pragma_table_info(?) WHERE name = ?").get(table, column)?.type;
	if (value !== null) return another(value);
	return type === "INTEGER" ? 7 : type === "BLOB" ? Buffer.alloc(9) : another(value);
}

/** Changes a column of one row to another value. */
export function changed(table: RowTable, column: string): Forgery {
	return {
		name: `${table}.${column} changed`,
		apply(database) {
			const [row] = findIn(database, table);
			if (row !== undefined) set(database, table, row, column, anotherIn(database, table, column, row[column] ?? null));
		},
	};
}

/** Exchanges a column's values of two rows. */
export function swapped(table: RowTable, column: string): Forgery {
	return {
		name: `${table}.${column} swapped`,
		apply(database) {
			const rows = findIn(database, table);
			const [one] = rows;
			const other = rows.findLast((row) => JSON.stringify(row[column]) !== JSON.stringify(one?.[column]));
			if (one === undefined || other === undefined) return;
			// By way of a third value: most of these columns are unique.
			const aside = anotherIn(database, table, column, one[column] ?? null);
			set(database, table, one, column, aside);
			set(database, table, other, column, one[column] ?? null);
			set(
				database,
				table,
				keyOf(table).includes(column) ? { ...one, [column]: aside } : one,
				column,
				other[column] ?? null,
			);
		},
	};
}

/** Moves the first row of a table to the last of the realms. */
export function moved(table: RowTable): Forgery {
	return {
		name: `${table} moved to another realm`,
		apply(database) {
			const [row] = findIn(database, table);
			const others = "SELECT id FROM main.realm WHERE id IS NOT ? ORDER BY id DESC LIMIT 1";
			const other = database.prepare(others).get(row?.realm_id ?? null)?.id;
			if (row !== undefined && other !== undefined) set(database, table, row, "realm_id", other);
		},
	};
}

/** Forgeries of whole rows of a table. */
export function ofRows(table: RowTable): Forgery[] {
	const columns = [...columnsOf(table), "mac"].join(", ");
	const keys = keyOf(table).join(", ");
	return [
		{
			name: `${table}: a row invented`,
			apply(database) {
				const [row] = findIn(database, table);
				const made: Row = row ?? sample(database, table);
				for (const column of columnsOf(table))
					if (isUnique(table, column)) made[column] = anotherIn(database, table, column, made[column] ?? null);
				insert(database, table, made);
			},
		},
		{
			name: `${table}: a row deleted`,
			apply: (database) =>
				database.exec(
					`DELETE FROM main.${table} WHERE (${keys}) IN (SELECT ${keys} FROM main.${table} ORDER BY ${keys} LIMIT 1)`,
				),
		},
		{ name: `${table}: all rows deleted`, apply: (database) => database.exec(`DELETE FROM main.${table}`) },
		{
			name: `${table}: rows put back as they once were`,
			apply: (database) =>
				database.exec(
					`DELETE FROM main.${table}; INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM ${KEPT}.${table}`,
				),
		},
		{
			name: `${table}: rows that had ended put back beside the others`,
			apply: (database) =>
				database.exec(
					`INSERT OR IGNORE INTO main.${table} (${columns}) SELECT ${columns} FROM ${KEPT}.${table} WHERE (${keys}) NOT IN (SELECT ${keys} FROM main.${table})`,
				),
		},
		{
			name: `${table}: MACs exchanged`,
			apply: (database) => database.exec(`UPDATE main.${table} SET mac = (SELECT max(mac) FROM main.${table} AS o)`),
		},
	];
}

/** Tells whether two rows of a table never have the same value in a column. */
function isUnique(table: RowTable, column: string): boolean {
	return (
		keyOf(table).includes(column) ||
		["email", "slug", "digest", "id", "name", "user_id", "ordinal", "realm_id"].includes(column)
	);
}

function sample(database: DatabaseSync, table: RowTable): Row {
	return Object.fromEntries(columnsOf(table).map((column) => [column, anotherIn(database, table, column, null)]));
}

function insert(database: DatabaseSync, table: RowTable, row: Row): void {
	const columns = Object.keys(row);
	const values = columns.map((column) => row[column] ?? null);
	database
		.prepare(`INSERT INTO main.${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
		.run(...values);
}

/** Leaves out the forgeries that change nothing that MACs cover, such as an exchange where the world has one row. */
export function withEffect({ honest, before }: ForgedWorld, table: RowTable, forgeries: readonly Forgery[]): Forgery[] {
	return forgeries.filter(({ apply }) => {
		const database = new DatabaseSync(join(honest, "svc.db"), { enableForeignKeyConstraints: false });
		try {
			database.exec(`PRAGMA ignore_check_constraints = ON; ATTACH '${join(before, "svc.db")}' AS ${KEPT}; BEGIN`);
			const honestly = authentic(database, table);
			apply?.(database);
			return authentic(database, table) !== honestly;
		} finally {
			database.exec("ROLLBACK");
			database.close();
		}
	});
}

/** Reads all that MACs cover of a table's rows, and the MACs. */
function authentic(database: DatabaseSync, table: RowTable): string {
	const columns = [...coveredColumns(table), "mac"].join(", ");
	return JSON.stringify(database.prepare(`SELECT ${columns} FROM main.${table} ORDER BY ${columns}`).all());
}
