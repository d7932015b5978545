import { FatalError } from "../../errors.ts";
import type { Connection } from "./connection.ts";
import { SERVER_LOCK, SHARED_SERVER_LOCK } from "./locks.ts";

/** Oldest version that is supported. */
const OLDEST = 15;

/** Properties of a database that decide whether it can be used. */
interface Properties {
	pid: number;
	version: number;
	encoding: string;
	is_standby: boolean;
}

const PROPERTIES = `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int / 10000 AS version,
	current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby`;

/**
 * Claims the database for this server, as long as the connection lasts.
 * @param isShared lets other servers that share it use it at the same time
 * @throws FatalError saying why the database cannot be used, or that another server uses it
 */
export async function claimDatabase(connection: Connection, isShared: boolean): Promise<void> {
	const [found] = await connection.rows<Properties>(PROPERTIES);
	const reason = found && reasonAgainst(found, connection.process_id);
	if (reason !== undefined) throw new FatalError(reason);
	try {
		// A server that has just ended may hold it for a moment, as long as its connections outlive it.
		await connection.script(isShared ? SHARED_SERVER_LOCK : SERVER_LOCK);
	} catch (cause) {
		if ((cause as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw cause;
		throw new FatalError(
			"another svc server is using the database: stop it, or choose another database (several servers on one are not supported yet)",
			78,
			{ cause },
		);
	}
}

const LOCK_NOT_AVAILABLE = "55P03";

function reasonAgainst({ pid, version, encoding, is_standby }: Properties, process_id: number): string | undefined {
	if (pid !== process_id)
		return "database_url leads to a connection pooler, which would hand one connection to many: connect to PostgreSQL directly";
	if (version < OLDEST) return `the database is PostgreSQL ${version}: svc needs ${OLDEST} or newer`;
	if (encoding !== "UTF8")
		return `the database's encoding is ${encoding}: create it with ENCODING 'UTF8' TEMPLATE template0`;
	if (is_standby) return "database_url leads to a standby, which cannot be written: name the primary";
	return undefined;
}
