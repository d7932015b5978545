import { hash } from "node:crypto";
import { FatalError } from "../../errors.ts";
import { type SchemaObjects, schemaDifference } from "../schema-difference.ts";
import { makeSchema, SCHEMA, type Session, type Sql } from "./connection.ts";
import { CHANGES_LOCK } from "./locks.ts";
import { ACCESS } from "./migrations/0001-access.ts";
import { CONTENT } from "./migrations/0002-content.ts";
import { LOG } from "./migrations/0003-log.ts";
import { VERSIONS_BY_AGE } from "./migrations/0004-versions-by-age.ts";
import { INVITATIONS_BY_ID } from "./migrations/0005-invitations-by-id.ts";
import { NODES } from "./migrations/0006-nodes.ts";
import { LEASE_CLAIMS } from "./migrations/0007-lease-claims.ts";
import { BRIEF_FACTS } from "./migrations/0008-brief-facts.ts";
import { SHARED_WORK } from "./migrations/0009-shared-work.ts";
import { NODE_KEYS } from "./migrations/0010-node-keys.ts";
import { JWT_SOURCES } from "./migrations/0011-jwt-sources.ts";
import { BUSY_CALLERS } from "./migrations/0012-busy-callers.ts";
import { SESSION_USES } from "./migrations/0013-session-uses.ts";
import { AUDIT_ENVIRONMENTS } from "./migrations/0014-audit-environments.ts";
import { narrowRights } from "./roles.ts";
import { schemaObjects } from "./schema-objects.ts";

/** The schema's history. Never edit a migration after a release; add a new one at the end. */
const MIGRATIONS: readonly { name: string; sql: string }[] = [
	...[ACCESS, CONTENT, LOG, VERSIONS_BY_AGE, INVITATIONS_BY_ID, NODES, LEASE_CLAIMS, BRIEF_FACTS, SHARED_WORK],
	...[NODE_KEYS, JWT_SOURCES, BUSY_CALLERS, SESSION_USES, AUDIT_ENVIRONMENTS],
];

/** Makes the list of the migrations that were applied, unless it is there. */
const LIST =
	'CREATE TABLE IF NOT EXISTS migration (name text COLLATE "C" PRIMARY KEY, hash text NOT NULL, applied_at text NOT NULL)';

/** Finds what another program altered in the schema, in the state that the transaction reads. */
export type FindAlterations = (sql: Sql) => Promise<string[]>;

/**
 * Treatment of migrations that a database lacks: a command that only works on a server's database refuses them, and so does a server while others use the
 * database, because their version does not know the new schema.
 */
export type Pending = "apply" | "refuse" | "refuse while others run";

/** A migration that was applied. */
interface Applied {
	name: string;
	hash: string;
}

/**
 * Brings the schema up to date in one transaction, while no other server changes anything.
 * @throws FatalError when the database is newer than this program or has another history, or its schema was altered and would be migrated
 */
export function migrate(session: Session, now: string, mode: Pending = "apply"): Promise<FindAlterations> {
	return session.transaction("BEGIN", async () => {
		await session.run(CHANGES_LOCK);
		const applied = await appliedIn(session);
		refuseOther(applied);
		const pending = MIGRATIONS.slice(applied.length);
		if (mode !== "apply" && pending.length > 0) throw refusal(applied.length, mode);
		if (applied.length > 0 && pending.length > 0) await refuseAltered(session, applied.length);
		if (pending.length > 0) await apply(session, applied.length, now).catch(explainDenied);
		const made = await madeBy(session, MIGRATIONS.length);
		return async (sql) => schemaDifference(await schemaObjects(sql, SCHEMA), made);
	});
}

/** Applies the migrations that a database lacks. */
async function apply(session: Session, applied: number, now: string): Promise<void> {
	if (applied === 0) await makeSchema(session);
	if (applied === 0) await session.run(LIST);
	for (const { name, sql } of MIGRATIONS.slice(applied)) {
		await session.script(sql);
		await session.run("INSERT INTO migration (name, hash, applied_at) VALUES ($1, $2, $3)", [
			name,
			hash("sha256", sql),
			now,
		]);
	}
	await narrowRights(session);
}

/** SQLSTATE of a role that lacks a right. */
const DENIED = "42501";

function explainDenied(cause: unknown): never {
	if ((cause as { code?: unknown }).code !== DENIED) throw cause;
	throw new FatalError(
		"the database lacks migrations, and the role of database_url may not make them: run `svc database migrate` as the role that owns the tables, then start the server",
		undefined,
		{ cause },
	);
}

/** Lists the migrations that were applied: none to a database without the list. */
export async function appliedIn(sql: Sql): Promise<Applied[]> {
	const lists = await sql.rows("SELECT FROM pg_class WHERE oid = to_regclass($1)", [`${SCHEMA}.migration`]);
	return lists.length === 0 ? [] : sql.rows<Applied>("SELECT name, hash FROM migration ORDER BY name");
}

/** Tells whether a database has the schema that this program makes. */
export async function hasOwnSchema(sql: Sql): Promise<boolean> {
	const applied = await appliedIn(sql);
	return applied.length === MIGRATIONS.length && applied.every(({ name }, index) => name === MIGRATIONS[index]?.name);
}

function refusal(applied: number, mode: Pending): FatalError {
	if (mode === "refuse while others run")
		return new FatalError(
			"the database is of an earlier version, and servers of that version use it: stop them all (`svc nodes` lists them), then start this one",
		);
	const what = applied === 0 ? "the database has no data of svc" : "the database is of an earlier version";
	return new FatalError(`${what}: start the server once, stop it, then run the command again`);
}

function refuseOther(applied: readonly Applied[]): void {
	if (applied.length > MIGRATIONS.length)
		throw new FatalError("the database was written by a newer svc: start that version, or restore a backup");
	const other = applied.find(({ name, hash: digest }, index) => {
		const known = MIGRATIONS[index];
		return known === undefined || known.name !== name || hash("sha256", known.sql) !== digest;
	});
	if (other !== undefined)
		throw new FatalError(
			`the database's migration ${other.name} is not this program's: restore a backup of this version`,
		);
}

/** Refuses to migrate a schema that another program altered: the migration would run that program's triggers, and hide what it did. */
async function refuseAltered(session: Session, applied: number): Promise<void> {
	const made = await madeBy(session, applied);
	const altered = schemaDifference(await schemaObjects(session, SCHEMA), made);
	if (altered.length > 0)
		throw new FatalError(
			`the database's schema was altered by another program (${altered.join(", ")}), so nothing was migrated: restore a backup`,
		);
}

/**
 * Describes what the first migrations make: as temporary tables, which are rolled back, so that the server's role need not be allowed to make others.
 * Another version of PostgreSQL may describe it in other words.
 */
async function madeBy(session: Session, migrations: number): Promise<SchemaObjects> {
	await session.script("SAVEPOINT made; SET LOCAL search_path = pg_temp");
	await session.script(LIST).catch(explainTemporary);
	for (const { sql } of MIGRATIONS.slice(0, migrations)) await session.script(inTemporary(sql));
	const [schema] = await session.rows<{ name: string }>(
		"SELECT nspname AS name FROM pg_namespace WHERE oid = pg_my_temp_schema()",
	);
	const made = await schemaObjects(session, schema?.name ?? SCHEMA);
	await session.script("ROLLBACK TO SAVEPOINT made");
	return made;
}

/** Names functions with their schema: PostgreSQL looks for none in the temporary one. */
const inTemporary = (sql: string) => sql.replaceAll("EXECUTE FUNCTION ", "EXECUTE FUNCTION pg_temp.");

function explainTemporary(cause: unknown): never {
	if ((cause as { code?: unknown }).code !== DENIED) throw cause;
	throw new FatalError(
		"the role of database_url may not make temporary tables, which each start compares the schema with: GRANT TEMPORARY ON DATABASE … TO it",
		undefined,
		{ cause },
	);
}
