/** A connection of either library. */
interface Connection {
	exec(sql: string): unknown;
	prepare(sql: string): { all(): unknown[] };
}

/** Changes a database as an attacker who knows the schema would: drops the triggers that protect the log, and restores them afterwards. */
export function tamperWith<Database extends Connection>(
	database: Database,
	change: (database: Database) => void,
): void {
	const kept = database.prepare(
		"SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit_event'",
	);
	const triggers = kept.all() as { name: string; sql: string }[];
	for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
	change(database);
	for (const { sql } of triggers) database.exec(sql);
}
