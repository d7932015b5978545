import { join } from "node:path";
import { type Api, api } from "../harness/client.ts";
import { type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { createDatabase, runSql, startPostgres } from "../peers/postgres.ts";

/** Two servers with one database and one address, as behind a balancer that may send each request to either. */
export interface BalancedServers {
	readonly servers: readonly [Server, Server];
	/** The servers by their own addresses. */
	readonly here: Api;
	readonly there: Api;
	/** The instance admin. */
	readonly root: Person;
	/** Runs statements on the database, behind the servers. */
	runSql(text: string): string;
	close(): Promise<void>;
}

const DATABASE = "svc_balanced";

/** Starts the servers. Both believe that browsers reach them at the first one's address. @param more variables of both */
export async function startBalancedServers(more: Readonly<Record<string, string>> = {}): Promise<BalancedServers> {
	await using ends = new AsyncDisposableStack();
	const postgres = await startPostgres();
	ends.defer(postgres.stop);
	const ports = [await freePort(), await freePort()];
	let env: Record<string, string> = {
		...more,
		SVC_DATABASE_URL: createDatabase(postgres, DATABASE),
		SVC_BASE_URL: `https://localhost:${ports[0]}`,
	};
	const start = async (port: number | undefined): Promise<Server> => {
		const server = await startServer({
			env: { ...env, SVC_LISTEN: `127.0.0.1:${port}` },
		});
		ends.defer(server.close);
		return { ...server, url: `https://localhost:${port}` };
	};
	const first = await start(ports[0]);
	env = { ...env, SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	const second = await start(ports[1]);
	const [here, there] = [api(first), api(second)];
	const root = await person(here, "root");
	const moved = ends.move();
	return {
		servers: [first, second],
		...{ here, there, root },
		runSql: (text) => runSql(postgres, DATABASE, text),
		close: () => moved.disposeAsync(),
	};
}
