import { hash } from "node:crypto";
import { FatalError } from "../../errors.ts";
import { type Connection, makeSchema } from "./connection.ts";
import { CHANGES_LOCK } from "./locks.ts";
import { ACCESS } from "./migrations/0001-access.ts";
import { CONTENT } from "./migrations/0002-content.ts";
import { LOG } from "./migrations/0003-log.ts";

/** The schema's history. Never edit a migration after a release; add a new one at the end. */
const MIGRATIONS: readonly { name: string; sql: string }[] = [ACCESS, CONTENT, LOG];

/**
 * Brings the schema up to date in one transaction, while no other server changes anything.
 * @throws FatalError when the database is newer than this program or has another history
 */
export async function migrate(connection: Connection, now: string): Promise<void> {
	await connection.transaction("BEGIN", async () => {
		await connection.run(CHANGES_LOCK);
		await makeSchema(connection);
		await connection.run(
			'CREATE TABLE IF NOT EXISTS migration (name text COLLATE "C" PRIMARY KEY, hash text NOT NULL, applied_at text NOT NULL)',
		);
		const applied = await connection.rows<{ name: string; hash: string }>(
			"SELECT name, hash FROM migration ORDER BY name",
		);
		refuseOther(applied);
		for (const { name, sql } of MIGRATIONS.slice(applied.length)) {
			await connection.script(sql);
			await connection.run("INSERT INTO migration (name, hash, applied_at) VALUES ($1, $2, $3)", [
				name,
				hash("sha256", sql),
				now,
			]);
		}
	});
}

function refuseOther(applied: readonly { name: string; hash: string }[]): void {
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
