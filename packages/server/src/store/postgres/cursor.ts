import type { Sql } from "./connection.ts";

/** Rows read at a time, unless they are large. */
const PORTION = 2000;

/**
 * Reads the rows of a query by a cursor of the transaction.
 * @param name of the cursor, for this query alone: its statements are kept parsed
 */
export async function* everyRow<Row>(
	sql: Sql,
	name: string,
	query: string,
	portion = PORTION,
): AsyncGenerator<Row, undefined> {
	await sql.run(`DECLARE ${name} NO SCROLL CURSOR FOR ${query}`);
	for (;;) {
		const rows = await sql.rows<Row>(`FETCH ${portion} FROM ${name}`);
		yield* rows;
		if (rows.length < portion) break;
	}
	await sql.run(`CLOSE ${name}`);
}
