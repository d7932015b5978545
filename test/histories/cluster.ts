import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withConnection } from "../../packages/server/src/store/postgres/connection.ts";
import { type Server, startServer } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { addressOf, createDatabase, type Postgres, runSql, startPostgres } from "../peers/postgres.ts";
import { startProxy, type TcpProxy } from "../peers/proxy.ts";
import type { Logged, Removal } from "./history.ts";

const DATABASE = "svc_histories";

/** A server of the cluster. */
export interface Node {
	readonly server: Server;
	/** Its address, which a restart keeps. */
	readonly url: string;
	/** Proxy between it and the database. */
	readonly link: TcpProxy;
}

/** Three servers that share a database, each with a proxy in between. */
export interface Cluster {
	readonly nodes: readonly Node[];
	readonly postgres: Postgres;
	/** Folder in which credentials are files. */
	readonly target: string;
	runSql(text: string): string;
	/** Reads the audit log from the database. */
	log(): Promise<Logged[]>;
	/** Reads when servers removed credentials. */
	removals(): Promise<Removal[]>;
	/** Names the credentials that are at the target. */
	names(): Promise<Set<string>>;
	close(): Promise<void>;
}

/** Number of servers. */
export const NODES = 3;

/** Settings with which a database keeps all that it has answered when its processes are killed. */
const KEEPS = ["synchronous_commit=on"];

/** Starts the cluster. @param fault a fault of all of its servers */
export async function startCluster(fault?: string): Promise<Cluster> {
	await using ends = new AsyncDisposableStack();
	const folder = await mkdtemp(join(tmpdir(), "svc-histories-"));
	ends.defer(() => rm(folder, { recursive: true, force: true }));
	const target = join(folder, "target");
	await mkdir(target);
	const postgres = await startPostgres({ settings: KEEPS });
	ends.defer(postgres.stop);
	createDatabase(postgres, DATABASE);
	let key: string | undefined;
	const start = async (): Promise<Node> => {
		const link = await startProxy(postgres.port);
		ends.defer(link.stop);
		const port = await freePort();
		const env = {
			SVC_LISTEN: `127.0.0.1:${port}`,
			SVC_LOG_LEVEL: "info",
			SVC_LIMITS_REALMS_PER_ACCOUNT: "100000",
			SVC_DATABASE_URL: addressOf({ ...postgres, port: link.port }, DATABASE),
			...(key !== undefined && { SVC_MASTER_KEY_FILE: key }),
			...(fault !== undefined && { PLANTED_FAULT: fault }),
		};
		const server = await startServer({ program: "test/histories/server.ts", env });
		// One that a fault has ended is not an error any more.
		ends.defer(() => server.kill("SIGKILL").then(server.close, server.close));
		return { server, link, url: `https://127.0.0.1:${port}` };
	};
	const first = await start();
	key = join(first.server.data, "master.key");
	const nodes = [first, ...(await Promise.all(Array.from({ length: NODES - 1 }, start)))];
	const moved = ends.move();
	return {
		...{ nodes, postgres, target },
		runSql: (text) => runSql(postgres, DATABASE, text),
		log: () => readLog(postgres),
		removals: () => readRemovals(join(folder, "removals")),
		names: async () => new Set(await readdir(target)),
		close: () => moved.disposeAsync(),
	};
}

const LOG = `SELECT type, realm, data ->> 'request_id' AS request_id, data ->> 'key' AS key, (data ->> 'version')::int AS version,
	data ->> 'lease_id' AS lease_id, data ->> 'name' AS name
	FROM (SELECT type, realm, data::jsonb AS data FROM svc.audit_event
		WHERE type IN ('secret.read', 'secret.set', 'engine.generate', 'lease.created', 'lease.revoked')) AS event`;

function readLog({ host, port, user }: Postgres): Promise<Logged[]> {
	const address = { host, port, user, database: DATABASE, password: "" };
	return withConnection(address, (connection) => connection.rows<Logged>(LOG));
}

/** Joins the start of each removal with its end, where its server lived to see it. */
async function readRemovals(journal: string): Promise<Removal[]> {
	const text = await readFile(journal, "utf8").catch(() => "");
	const removals: Removal[] = [];
	const open = new Map<string, number>();
	for (const line of text.split("\n").filter((written) => written.endsWith("}"))) {
		const { name, pid, moment, ms } = JSON.parse(line);
		const by = `${name} ${pid}`;
		const at = open.get(by);
		if (moment === "start") {
			open.set(by, removals.length);
			removals.push({ name, pid, start_ms: ms, end_ms: undefined });
		} else if (at !== undefined) {
			removals[at] = { name, pid, start_ms: removals[at]?.start_ms ?? ms, end_ms: ms };
			open.delete(by);
		}
	}
	return removals;
}
