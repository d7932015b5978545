import type { DatabaseSync } from "node:sqlite";

/** Changes a database as an attacker who knows the schema would: drops the triggers that protect the log, and restores them afterwards. */
export function tamperWith(database: DatabaseSync, change: (database: DatabaseSync) => void): void {
	const kept = database.prepare(
		"SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit_event'",
	);
	const triggers = kept.all();
	for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
	change(database);
	for (const { sql } of triggers) database.exec(String(sql));
}
