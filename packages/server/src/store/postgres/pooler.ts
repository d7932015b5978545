import { FatalError } from "../../errors.ts";
import { type Connection, ConnectionLost, type Sql } from "./connection.ts";

/** Number of attempts to find two connections in one session: another server's may be there in between. */
const ROUNDS = 5;

/** SQLSTATE of a statement that was parsed in another session, twice in one, or that a pooler does not pass on. */
const POOLED = /^(26000|42P05|08P01)$/;

/**
 * Refuses a pooler that gives the transactions of one connection to several sessions of the database, as PgBouncer does with pool_mode transaction: locks,
 * settings and parsed statements belong to a session.
 * @param pid process that the connection has reached: with a pooler in between, it is not the one that was reported at the start of the connection
 * @throws FatalError
 */
export async function refusePooled(connection: Connection, pid: number): Promise<void> {
	if (pid === connection.process_id) return;
	const other = await connection.again();
	try {
		for (let round = 0; round < ROUNDS; round++) if (await areMixed(connection, other)) throw pooled();
	} catch (error) {
		throw explainPooled(error);
	} finally {
		await other.close();
	}
}

/** Tells whether a connection leaves its session to another one between two transactions. */
async function areMixed(one: Sql, other: Connection): Promise<boolean> {
	const before = await processOf(one);
	return other.transaction("BEGIN", async () => {
		const taken = await processOf(other);
		return taken === before || (await processOf(one)) !== before;
	});
}

async function processOf(sql: Sql): Promise<number | undefined> {
	const [session] = await sql.rows<{ pid: number }>("SELECT pg_backend_pid() AS pid");
	return session?.pid;
}

/** Explains an error that only a pooler causes; returns any other as it is. */
export function explainPooled(error: unknown): unknown {
	const cause = error instanceof ConnectionLost ? error.cause : error;
	return POOLED.test(String((cause as { code?: unknown } | undefined)?.code)) ? pooled() : error;
}

function pooled(): FatalError {
	return new FatalError(
		"database_url leads to a connection pooler that shares its sessions (PgBouncer's pool_mode transaction or statement): use pool_mode session, or connect to PostgreSQL directly",
	);
}
