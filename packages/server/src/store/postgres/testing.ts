import pg from "pg";
import type { Postgres } from "../../../../../test/peers/postgres.ts";
import { type Cleanup, closedOnce, ROW_KEY } from "../../testing/store.ts";
import type { Store } from "../store.ts";
import { openPostgresStore } from "./store.ts";

/** The PostgreSQL store in a database of its own. */
export interface PostgresTestStore {
	store: Store;
	database: string;
}

let made = 0;

/** Opens a store in a new database of a test's server, or in a used one; it is closed after the test. @param expected gets the failures that the test expects @param isGuarded leaves the keys of its rows to a keyring when false */
export async function openPostgresTestStore(
	cleanup: Cleanup,
	server: Pick<Postgres, "host" | "port" | "user">,
	used?: string,
	expected?: Error[],
	isGuarded = true,
): Promise<PostgresTestStore> {
	const { host, port, user } = server;
	const database = used ?? `svc_${++made}`;
	if (used === undefined) await runSql(server, "postgres", `CREATE DATABASE ${database}`);
	const failures: Error[] = expected ?? [];
	const opened = await openPostgresStore({
		addresses: () => [{ host, port, user, database, password: "" }],
		now: new Date("2030-01-01T00:00:00Z"),
		isShared: true,
		onFailure: (failure) => failures.push(failure),
	});
	if (isGuarded) await opened.guard([ROW_KEY]);
	const store = closedOnce(opened);
	cleanup.after(async () => {
		await store.close();
		if (expected === undefined && failures.length > 0) throw failures[0];
	});
	return { store, database };
}

/** Opens two stores on one new database, as two servers do. @param isGuarded leaves the keys of its rows to keyrings when false */
export async function openPostgresTestPair(
	cleanup: Cleanup,
	server: Pick<Postgres, "host" | "port" | "user">,
	isGuarded = true,
) {
	const { store: here, database } = await openPostgresTestStore(cleanup, server, undefined, undefined, isGuarded);
	const { store: there } = await openPostgresTestStore(cleanup, server, database, undefined, isGuarded);
	return { here, there, runSql: (text: string) => runSql(server, database, text) };
}

/** Runs statements behind the store's back. @returns the rows of one */
export async function runSql(
	{ host, port, user }: Pick<Postgres, "host" | "port" | "user">,
	database: string,
	text: string,
): Promise<Record<string, unknown>[]> {
	const client = new pg.Client({ host, port, user, database, password: "" });
	await client.connect();
	try {
		return (await client.query(text)).rows;
	} finally {
		await client.end();
	}
}
