import { FatalError } from "../../errors.ts";
import type { Connection, Sql } from "./connection.ts";
import { LEAVE_SERVER_LOCK, SERVER_LOCK, SHARED_SERVER_LOCK, TRY_SERVER_LOCK } from "./locks.ts";
import { explainPooled, refusePooled } from "./pooler.ts";

/** Oldest version that is supported. */
const OLDEST = 15;

/** Properties of a database that decide whether it can be used. */
interface Properties {
	pid: number;
	version: number;
	encoding: string;
}

const PROPERTIES = `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int / 10000 AS version,
	current_setting('server_encoding') AS encoding`;

/**
 * Way of using a database: a command has it alone, servers share it. The first of them has it alone until it calls `shareDatabase`, so that it may change
 * the schema.
 */
export type Use = "alone" | "shared" | "first or shared";

/**
 * Claims the database, as long as the connection lasts.
 * @returns whether nobody else uses it
 * @throws FatalError saying why the database cannot be used, or that another program of svc uses it
 */
export async function claimDatabase(connection: Connection, use: Use): Promise<boolean> {
	const [found] = await connection.rows<Properties>(PROPERTIES).catch((error: unknown) => {
		throw explainPooled(error);
	});
	const reason = found && reasonAgainst(found);
	if (reason !== undefined) throw new FatalError(reason);
	if (found !== undefined) await refusePooled(connection, found.pid);
	if (use === "first or shared" && (await isFirst(connection))) return true;
	try {
		// A server that has just ended may hold it for a moment, as long as its connections outlive it.
		await connection.script(use === "alone" ? SERVER_LOCK : SHARED_SERVER_LOCK);
	} catch (cause) {
		if ((cause as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw cause;
		throw new FatalError(
			use === "alone"
				? "another svc server is using the database: stop it and all others that `svc nodes` lists, or choose another database"
				: "a command of svc is using the database: try again when it has ended",
			78,
			{ cause },
		);
	}
	return use === "alone";
}

async function isFirst(connection: Connection): Promise<boolean> {
	const [lock] = await connection.rows<{ is_first: boolean }>(TRY_SERVER_LOCK);
	return lock?.is_first === true;
}

/** Lets other servers use the database, which this one has had alone since it claimed it. */
export async function shareDatabase(sql: Pick<Sql, "rows">): Promise<void> {
	await sql.rows(SHARED_SERVER_LOCK);
	await sql.rows(LEAVE_SERVER_LOCK);
}

const LOCK_NOT_AVAILABLE = "55P03";

function reasonAgainst({ version, encoding }: Properties): string | undefined {
	if (version < OLDEST) return `the database is PostgreSQL ${version}: svc needs ${OLDEST} or newer`;
	if (encoding !== "UTF8")
		return `the database's encoding is ${encoding}: create it with ENCODING 'UTF8' TEMPLATE template0`;
	return undefined;
}
