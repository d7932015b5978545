import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import type { Server, ServerOptions } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { createTestDatabase } from "./database.ts";

// biome-ignore lint/style/noProcessEnv: how many servers the test run is about
const given = process.env.SVC_TEST_NODES ?? "1";

/** Servers behind each address of the tests. More than one share a database, so SVC_TEST_DATABASE_URL must be set, too. */
export const NODES = Number(given);

/**
 * Starts `NODES` servers with one database behind a balancer, and shows them as one server. Its data directory is that of the first one; signals and
 * restarts concern all of them.
 * @param startOne starts a server
 */
export async function startNodes(
	{ env = {} }: ServerOptions,
	startOne: (options: ServerOptions) => Promise<Server>,
): Promise<Server> {
	await using ends = new AsyncDisposableStack();
	const database = await createTestDatabase();
	if (database === undefined) throw new Error("SVC_TEST_NODES needs SVC_TEST_DATABASE_URL");
	ends.defer(database.drop);
	const nodes: Server[] = [];
	const ports = await Promise.all(Array.from({ length: NODES }, freePort));
	const balancer = await startBalancer(ports);
	ends.defer(balancer.stop);
	const url = `https://localhost:${balancer.port}`;
	const common = { ...database.env, SVC_BASE_URL: url, ...env };
	const start = async (port: number, more: Record<string, string>) => {
		const node = await startOne({ env: { ...common, ...more, SVC_LISTEN: `127.0.0.1:${port}` } });
		ends.defer(node.close);
		nodes.push(node);
		return node;
	};
	const [one = 0, ...others] = ports;
	const first = await start(one, {});
	const hasKey = Object.keys(env).some((name) => name.startsWith("SVC_MASTER_KEY"));
	const key = hasKey ? {} : { SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	await Promise.all(others.map((port) => start(port, key)));
	return asOne(url, first, nodes, ends.move());
}

function asOne(url: string, first: Server, nodes: readonly Server[], ends: AsyncDisposableStack): Server {
	const ofAll = async <Result>(act: (node: Server) => Promise<Result>) => (await Promise.all(nodes.map(act)))[0];
	const written = (from: "stdout" | "stderr") => nodes.map((node) => node[from]()).join("");
	return {
		url,
		data: first.data,
		get pid() {
			return first.pid;
		},
		get ca() {
			return first.ca;
		},
		stdout: () => written("stdout"),
		stderr: () => written("stderr"),
		kill: async (signal) => (await ofAll((node) => node.kill(signal))) ?? null,
		ended: async () => (await ofAll((node) => node.ended())) ?? null,
		stop: async () => void (await ofAll((node) => node.stop())),
		restart: async (changes) => void (await ofAll((node) => node.restart(changes))),
		close: () => ends.disposeAsync(),
	};
}

/** A balancer that hands each new connection to the next server. */
interface Balancer {
	readonly port: number;
	stop(): Promise<void>;
}

async function startBalancer(ports: readonly number[]): Promise<Balancer> {
	const sockets = new Set<Socket>();
	const track = (socket: Socket, other: Socket) => {
		sockets.add(socket);
		socket.once("close", () => sockets.delete(socket));
		// A connection that breaks on one side breaks on the other.
		socket.on("error", () => other.resetAndDestroy());
	};
	let turn = 0;
	const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
		const upstream = connect({ host: "127.0.0.1", port: ports[turn++ % ports.length] ?? 0, allowHalfOpen: true });
		track(client, upstream);
		track(upstream, client);
		client.pipe(upstream).pipe(client);
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	// Tests that only stop their server end, too.
	server.unref();
	return {
		port: (server.address() as AddressInfo).port,
		async stop() {
			for (const socket of sockets) socket.destroy();
			await once(server.close(), "close");
		},
	};
}
