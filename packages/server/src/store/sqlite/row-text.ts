import { coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../row-kinds.ts";

/** Stands for a value of a type that its column never has; no covered column has such a number. JSON has no place for bytes among texts. */
const MISTYPED = "0.5";

/**
 * Returns an expression of SQL for the text of a table's rows that their MAC covers: JSON of the table and the values, with bytes in hexadecimal, in an
 * array of their own. No two rows have the same text. SQLite writes it in a tenth of the time that it takes to hand over the values one by one.
 * @param row prefix of the columns, such as `OLD.`
 */
export function rowText(table: RowTable, row = ""): string {
	const { bytes = [] }: RowKind = ROW_KINDS[table];
	const values = coveredColumns(table).map((name) => {
		const column = `${row}${name}`;
		if (!bytes.includes(name)) return `iif(typeof(${column}) = 'blob', ${MISTYPED}, ${column})`;
		const hex = `'["' || lower(hex(${column})) || '"]'`;
		return `json(CASE typeof(${column}) WHEN 'blob' THEN ${hex} WHEN 'null' THEN 'null' ELSE '${MISTYPED}' END)`;
	});
	return `json_array('${table}', json_array(${values.join(", ")}))`;
}
