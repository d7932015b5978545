import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { cannotOpen, codeOf } from "./failure.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openReader } from "./open.ts";

/**
 * Brings the schema up to date, each migration in one transaction, so that a crash leaves it applied or not.
 * @returns the number of migrations that were applied
 * @throws FatalError when the database is newer than this program or has another history
 */
export function migrate(db: Database.Database, now: string): number {
	createMigrationList(db);
	const { applied, problem } = schemaOf(db);
	if (problem !== "") throw new FatalError(problem);
	const pending = MIGRATIONS.slice(applied);
	for (const migration of pending) apply(db, migration, now);
	return pending.length;
}

/** Makes the table of the migrations that were applied, unless it is there. */
export function createMigrationList(db: Database.Database): void {
	db.exec(
		"CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT",
	);
}

/** Schema of a database, according to its own list of migrations. */
interface Schema {
	/** Migrations that were applied. */
	applied: number;
	/** The newest of them; empty when there is none. */
	schema: string;
	/** Reason why this program cannot use it, and what to do; empty when it can. */
	problem: string;
}

/** Compares the migrations of a database with those of this program. A database without the list is empty. */
export function schemaOf(db: Database.Database): Schema {
	const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").get() === undefined;
	const rows = isEmpty
		? []
		: (db.prepare("SELECT name, hash FROM migration ORDER BY name").all() as { name: string; hash: string }[]);
	const other = rows.find(({ name, hash: digest }, index) => {
		const known = MIGRATIONS[index];
		return known !== undefined && (known.name !== name || hash("sha256", known.sql) !== digest);
	});
	let problem = "";
	if (other !== undefined) {
		problem = `the database's migration ${other.name} is not this program's: restore a backup of this version`;
	} else if (rows.length > MIGRATIONS.length) {
		problem = "the database was written by a newer svc: start that version, or restore a backup";
	}
	return { applied: rows.length, schema: rows.at(-1)?.name ?? "", problem };
}

/**
 * Finds the first migration that a database with data lacks; undefined when it lacks none.
 * @throws FatalError when it cannot be read: the writer, which might read it a moment later, would migrate without a backup
 */
export function pendingMigration(file: string): string | undefined {
	if (!existsSync(file)) return undefined;
	try {
		rollBackCutOff(file);
		return firstPending(file);
	} catch (error) {
		const code = codeOf(error);
		throw code.startsWith("SQLITE_") ? cannotOpen(file, code) : error;
	}
}

/** Rolls back a transaction cut off before there was a write-ahead log: a read-only connection cannot, and fails. */
function rollBackCutOff(file: string): void {
	if (!existsSync(`${file}-journal`)) return;
	const db = new Database(file, { fileMustExist: true });
	try {
		db.prepare("SELECT count(*) FROM sqlite_schema").get();
	} finally {
		db.close();
	}
}

function firstPending(file: string): string | undefined {
	const db = openReader(file, "long");
	try {
		const { applied, problem } = schemaOf(db);
		if (applied === 0 || problem !== "") return undefined;
		const hasKeys = db.prepare("SELECT 1 FROM keyring LIMIT 1").get() !== undefined;
		return hasKeys ? MIGRATIONS[applied]?.name : undefined;
	} finally {
		db.close();
	}
}

/** Applies one migration. Foreign keys are off meanwhile, because a rebuilt table would take its children with it; they are checked at the end. */
function apply(db: Database.Database, migration: { name: string; sql: string }, now: string): void {
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
