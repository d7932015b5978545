import { join } from "node:path";
import { type Api, api } from "../harness/client.ts";
import { type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { createDatabase, runSql, startPostgres } from "../peers/postgres.ts";

/** Two servers that share one database. */
export interface SharingServers {
	readonly servers: readonly [Server, Server];
	/** The servers by their own addresses. */
	readonly here: Api;
	readonly there: Api;
	/** The instance admin. */
	readonly root: Person;
	/** Variables of a third server with the same database and master key. */
	readonly env: Readonly<Record<string, string>>;
	/** Runs statements on the database, behind the servers. */
	runSql(text: string): string;
	close(): Promise<void>;
}

const DATABASE = "svc_shared";

/** Starts two servers with addresses of their own. */
export function startSharingServers(): Promise<SharingServers> {
	return startPair({}, (env) => startServer({ env }));
}

/**
 * Starts two servers with one address, as behind a balancer that may send each request to either. Both believe that browsers reach them at the
 * first one's address.
 * @param more variables of both
 */
export async function startBalancedServers(more: Readonly<Record<string, string>> = {}): Promise<SharingServers> {
	const ports = [await freePort(), await freePort()];
	const left = [...ports];
	return startPair({ ...more, SVC_BASE_URL: `https://localhost:${ports[0]}` }, async (env) => {
		const port = left.shift();
		const server = await startServer({
			env: { ...env, SVC_LISTEN: `127.0.0.1:${port}` },
		});
		// Browsers may use passkeys for a name only. The prototype keeps the process id up to date.
		return Object.create(server, { url: { value: `https://localhost:${port}` } }) as Server;
	});
}

async function startPair(
	common: Readonly<Record<string, string>>,
	start: (env: Readonly<Record<string, string>>) => Promise<Server>,
): Promise<SharingServers> {
	await using ends = new AsyncDisposableStack();
	const postgres = await startPostgres();
	ends.defer(postgres.stop);
	const database = { ...common, SVC_DATABASE_URL: createDatabase(postgres, DATABASE) };
	const first = await start(database);
	ends.defer(first.close);
	const env = { ...database, SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	const second = await start(env);
	ends.defer(second.close);
	const [here, there] = [api(first), api(second)];
	const root = await person(here, "root");
	const moved = ends.move();
	return {
		servers: [first, second],
		...{ here, there, root, env },
		runSql: (text) => runSql(postgres, DATABASE, text),
		close: () => moved.disposeAsync(),
	};
}
