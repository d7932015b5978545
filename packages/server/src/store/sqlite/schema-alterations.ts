import Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { type SchemaObjects, schemaDifference } from "../schema-difference.ts";
import { createMigrationList, schemaOf } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openReader } from "./open.ts";

/** A table, index, trigger or view in SQLite's own list of the schema. */
interface SchemaObject {
	type: string;
	name: string;
	tbl_name: string;
	/** Null for an index that SQLite makes by itself. */
	sql: string | null;
}

/** Maximum length of a name that another program gave. */
const MAX_NAME = 100;

/** Description of what all migrations make, as JSON. Embedded in the single binary when it is made. */
declare const SVC_SCHEMA: string | undefined;

let own: SchemaObjects | undefined;

/** Describes what all migrations make. From source, the first call takes 10 ms. */
export function describeOwnSchema(): SchemaObjects {
	own ??= typeof SVC_SCHEMA === "undefined" ? madeBy(MIGRATIONS.length) : new Map(JSON.parse(SVC_SCHEMA));
	return own;
}

/**
 * Prepares the query for what the schema has, lacks or has in another form than the migrations made: a trigger that somebody added would change
 * rows within the server's own transactions. Design: §13
 * @param applied number of migrations that made the schema
 */
export function schemaAlterations(db: Database.Database, applied = MIGRATIONS.length): () => string[] {
	return () => schemaDifference(objectsOf(db), applied === MIGRATIONS.length ? describeOwnSchema() : madeBy(applied));
}

/**
 * Refuses to migrate a database whose schema another program altered: the migration would run that program's triggers, and hide what it did.
 * @throws FatalError naming what does not fit
 */
export function refuseAlteredSchema(file: string): void {
	const db = openReader(file, "long");
	try {
		const altered = schemaAlterations(db, schemaOf(db).applied)();
		if (altered.length === 0) return;
		throw new FatalError(
			`the schema of ${file} was altered by another program (${altered.join(", ")}), so nothing was migrated: restore a backup`,
		);
	} finally {
		db.close();
	}
}

function objectsOf(db: Database.Database): SchemaObjects {
	const objects = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").all() as SchemaObject[];
	return new Map(
		objects.map(({ type, name, tbl_name, sql }) => [
			`${type} ${name.slice(0, MAX_NAME)}`,
			JSON.stringify([name, tbl_name, sql]),
		]),
	);
}

/** Applies the migrations to an empty database in memory. */
function madeBy(applied: number): SchemaObjects {
	const db = new Database(":memory:");
	try {
		createMigrationList(db);
		for (const { sql } of MIGRATIONS.slice(0, applied)) db.exec(sql);
		return objectsOf(db);
	} finally {
		db.close();
	}
}
