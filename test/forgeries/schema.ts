import { renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ROW_MACS } from "../../packages/server/src/store/sqlite/migrations/0012-row-macs.ts";
import { MIGRATIONS } from "../../packages/server/src/store/sqlite/migrations.ts";
import type { Forgery } from "./trial.ts";

const bySql = (name: string, ...sql: string[]): Forgery => ({
	name: `schema: ${name}`,
	apply: (database) => database.exec(sql.join("; ")),
});

/** Writes SQLite's own list of the schema, which it reads again on the next connection. */
const byHand = (name: string, ...sql: string[]): Forgery =>
	bySql(name, "PRAGMA writable_schema = ON", ...sql, "PRAGMA writable_schema = OFF");

const PROMOTE = "AFTER INSERT ON session BEGIN UPDATE account SET instance_admin = 1; END";

/** Forgeries of the schema, with which rows would change, vanish or be accepted behind the server's back. */
export const OF_SCHEMA: readonly Forgery[] = [
	bySql("a trigger more", `CREATE TRIGGER main.promote ${PROMOTE}`),
	bySql("a trigger less", "DROP TRIGGER main.audit_event_stay"),
	bySql("a view more", "CREATE VIEW main.seen AS SELECT * FROM account"),
	bySql("a table more", "CREATE TABLE main.hidden (x)"),
	bySql("a virtual table more", "CREATE VIRTUAL TABLE main.hidden USING fts5(x)"),
	bySql("an index more", "CREATE UNIQUE INDEX main.one_session ON session (user_id) WHERE user_id = ''"),
	bySql("an index less", "DROP INDEX main.secret_live"),
	bySql("a column more", "ALTER TABLE main.binding ADD COLUMN hidden TEXT"),
	bySql("a computed column", "ALTER TABLE main.account ADD COLUMN power INTEGER AS (1)"),
	bySql("a column renamed", "ALTER TABLE main.account RENAME COLUMN disabled_at TO enabled_at"),
	bySql(
		"a view in a table's place",
		"ALTER TABLE main.meta RENAME TO hidden; CREATE VIEW main.meta AS SELECT * FROM hidden",
	),
	bySql("statistics that mislead the planner", "ANALYZE main"),
	byHand(
		"a check less",
		"UPDATE main.sqlite_schema SET sql = replace(sql, 'CHECK (instance_admin IN (0, 1))', '') WHERE name = 'account'",
	),
	byHand(
		"types that are none",
		"UPDATE main.sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'account'",
	),
	byHand(
		"another collation",
		"UPDATE main.sqlite_schema SET sql = replace(sql, 'email TEXT', 'email TEXT COLLATE NOCASE') WHERE name = 'account'",
	),
	byHand(
		"a table without row ids",
		"UPDATE main.sqlite_schema SET sql = sql || ', WITHOUT ROWID' WHERE name = 'binding'",
	),
	byHand(
		"a trigger under another's name",
		`INSERT INTO main.sqlite_schema VALUES ('trigger', 'audit_event_stay', 'audit_event', 0, 'CREATE TRIGGER promote ${PROMOTE}')`,
	),
	byHand(
		"a trigger before one of the same name",
		`INSERT INTO main.sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) VALUES (-1, 'trigger', 'audit_event_stay', 'session', 0, 'CREATE TRIGGER audit_event_stay ${PROMOTE}')`,
	),
	byHand(
		"a trigger with another text",
		"UPDATE main.sqlite_schema SET sql = replace(sql, 'RAISE(ABORT', 'abs(RAISE(IGNORE)') WHERE name = 'audit_event_stay'",
	),
	byHand(
		"an object of no kind",
		"INSERT INTO main.sqlite_schema VALUES ('table', 'sqlite_hidden', 'sqlite_hidden', 2, 'CREATE TABLE sqlite_hidden (x)')",
	),
	bySql("a migration forgotten", "DELETE FROM main.migration WHERE name = (SELECT max(name) FROM main.migration)"),
	bySql("all migrations forgotten", "DELETE FROM main.migration"),
	bySql("a migration more", "INSERT INTO main.migration VALUES ('9999-forged', '', '')"),
	bySql("a migration's hash changed", "UPDATE main.migration SET hash = 'x' WHERE name = '0001-first'"),
	{ name: "schema: the old release's tables", replace: (data) => toOlder(data, "") },
	{
		name: "schema: the old release's tables with other admins",
		replace: (data) => toOlder(data, "UPDATE account SET instance_admin = 1"),
	},
];

/** Writes all rows into the tables of the release whose rows had no MACs, and puts that database in the place of this one. */
function toOlder(data: string, sql: string): void {
	const [file, newer] = [join(data, "older.db"), join(data, "svc.db")];
	const older = new DatabaseSync(file, { enableForeignKeyConstraints: false });
	older.exec("CREATE TABLE migration (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT");
	const end = MIGRATIONS.indexOf(ROW_MACS);
	for (const migration of MIGRATIONS.slice(0, end)) older.exec(migration.sql);
	older.exec(`ATTACH '${newer}' AS newer`);
	const tables = older.prepare(
		"SELECT t.name, group_concat(c.name) AS columns FROM main.sqlite_schema t, pragma_table_info(t.name, 'main') c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' GROUP BY t.name",
	);
	for (const { name, columns } of tables.all()) {
		const where =
			name === "migration" ? `WHERE name < '${ROW_MACS.name}'` : name === "keyring" ? "WHERE purpose <> 'rows'" : "";
		older.exec(
			`DELETE FROM main.${name}; INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM newer.${name} ${where}`,
		);
	}
	older.exec(`DETACH newer; ${sql}`);
	older.close();
	renameSync(file, newer);
}
