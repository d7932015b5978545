import { LOG_TABLES, ROW_KINDS } from "../row-kinds.ts";
import { type BulkLoad, beginBulkLoad } from "../sqlite/bulk-load.ts";
import type { Address } from "./address.ts";
import { type Sql, withConnection } from "./connection.ts";
import { everyRow } from "./cursor.ts";
import { BEGIN_SNAPSHOT } from "./read-pools.ts";

/** Tables whose rows are copied as they are, from one store to the other. The others are counted, made or written again. */
export const COPIED_TABLES: readonly string[] = [...Object.keys(ROW_KINDS), ...LOG_TABLES];

/** Rows read at a time of the tables whose values have up to 256 KiB each. */
const LARGE_ROWS: Readonly<Record<string, number>> = { secret_version: 64, deleted_version: 64 };

/**
 * Copies all that the store holds at this instant into an empty file, as an SQLite database: rows, log and tip as they are, MACs and hashes included.
 * Nothing is checked, so that the snapshot, which keeps the database from removing dead rows, lives no longer than it must. Design: §14
 */
export async function copyToSqlite(address: Address, file: string, now: string): Promise<void> {
	const load = beginBulkLoad(file, now);
	try {
		await withConnection(address, (connection) =>
			connection.transaction(BEGIN_SNAPSHOT, () => copyAll(connection, load)),
		);
		load.finish();
	} finally {
		load.close();
	}
}

async function copyAll(sql: Sql, load: BulkLoad): Promise<void> {
	for (const table of COPIED_TABLES) {
		const query = `SELECT ${load.columnsOf(table).join(", ")} FROM ${table}`;
		for await (const row of everyRow<Record<string, unknown>>(sql, `copied_${table}`, query, LARGE_ROWS[table]))
			load.add(table, row);
	}
	const [tip] = await sql.rows<{ sealed: Buffer }>("SELECT sealed FROM tip ORDER BY id DESC LIMIT 1");
	if (tip !== undefined) load.add("tip", { id: 1, sealed: tip.sealed });
	const [last] = await sql.rows<{ id: number }>("SELECT last_value AS id FROM secret_id WHERE is_called");
	if (last !== undefined) load.setLastSecret(last.id);
}
