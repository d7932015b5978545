import type { DatabaseSync } from "node:sqlite";

/** Changes a database as somebody who knows the schema would: the triggers that keep the log are away meanwhile, and back afterwards. */
export function tamperWith(database: DatabaseSync, change: (database: DatabaseSync) => void): void {
	const kept = database.prepare(
		"SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit_event'",
	);
	const triggers = kept.all();
	for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
	change(database);
	for (const { sql } of triggers) database.exec(String(sql));
}
