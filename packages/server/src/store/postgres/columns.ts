import { SCHEMA, type Sql } from "./connection.ts";

/** A column, with its type. */
export interface Column {
	name: string;
	type: string;
}

const COLUMNS = `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
	WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`;

/** Lists the columns of a table with their types. */
export function typedColumns(sql: Sql, table: string): Promise<Column[]> {
	return sql.rows<Column>(COLUMNS, [`${SCHEMA}.${table}`]);
}
