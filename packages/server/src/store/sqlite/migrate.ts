import { hash } from "node:crypto";
import type { Database } from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { MIGRATIONS } from "./migrations.ts";

/**
 * Brings the schema up to date, each migration in one transaction, so that a crash leaves it applied or not.
 * @throws FatalError when the database is newer than this program or was made by another history
 */
export function migrate(db: Database, now: string): void {
	db.exec(
		"CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT",
	);
	const applied = db.prepare("SELECT name, hash FROM migration ORDER BY name").all() as {
		name: string;
		hash: string;
	}[];
	for (const [index, row] of applied.entries()) {
		const known = MIGRATIONS[index];
		if (known === undefined)
			throw new FatalError("the database was written by a newer svc: start that version, or restore a backup");
		if (known.name !== row.name || hash("sha256", known.sql) !== row.hash) {
			throw new FatalError(
				`the database's migration ${row.name} is not this program's: restore a backup of this version`,
			);
		}
	}
	for (const migration of MIGRATIONS.slice(applied.length)) apply(db, migration, now);
}

/** Foreign keys are off meanwhile, because a table that is rebuilt would otherwise take its children with it; they are checked at the end. */
function apply(db: Database, migration: { name: string; sql: string }, now: string): void {
	db.pragma("foreign_keys = OFF");
	db.exec("BEGIN IMMEDIATE");
	try {
		db.exec(migration.sql);
		db.prepare("INSERT INTO migration (name, hash, applied_at) VALUES (?, ?, ?)").run(
			migration.name,
			hash("sha256", migration.sql),
			now,
		);
		if ((db.pragma("foreign_key_check") as unknown[]).length > 0)
			throw new FatalError(`migration ${migration.name} breaks references`);
		db.exec("COMMIT");
	} catch (error) {
		if (db.inTransaction) db.exec("ROLLBACK");
		throw error;
	} finally {
		db.pragma("foreign_keys = ON");
	}
}
