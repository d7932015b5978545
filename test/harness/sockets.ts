import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Server } from "../harness.ts";

/** Opens silent connections, all from one address of the loopback network. Their errors do not fail the test. */
export async function openSockets(server: Server, count: number, from: string): Promise<Socket[]> {
	const port = Number(new URL(server.url).port);
	const sockets = Array.from({ length: count }, () =>
		connect({ host: "127.0.0.1", port, localAddress: from, allowHalfOpen: true }).on("error", () => undefined),
	);
	await Promise.all(sockets.map((socket) => once(socket, "connect")));
	return sockets;
}

/** Opens connections and completes their TLS handshakes. */
export async function openSecure(server: Server, count: number, from: string): Promise<Socket[]> {
	const raw = await openSockets(server, count, from);
	return Promise.all(
		raw.map(async (socket) => {
			const secure = connectTls({ socket, ca: server.ca, host: "127.0.0.1", allowHalfOpen: true } as object);
			secure.on("error", () => undefined);
			await once(secure, "secureConnect");
			return secure;
		}),
	);
}

/** Counts the sockets on the server's port that wait for the server rather than for their other end. */
export function socketStates(server: Server): { ESTABLISHED: number; CLOSE_WAIT: number } {
	const port = Number(new URL(server.url).port).toString(16).toUpperCase().padStart(4, "0");
	const states = readFileSync("/proc/net/tcp", "latin1")
		.split("\n")
		.map((line) => line.trim().split(/\s+/))
		.filter(([, local]) => local?.endsWith(`:${port}`))
		.map(([, , , state]) => state);
	const count = (code: string) => states.filter((state) => state === code).length;
	return { ESTABLISHED: count("01"), CLOSE_WAIT: count("08") };
}

/** Counts the server's descriptors of sockets. The others are files, which its threads open whenever they need them first. */
export function socketDescriptorsOf(server: Server): number {
	const descriptors = `/proc/${server.pid}/fd`;
	return readdirSync(descriptors).filter((fd) => linkAt(`${descriptors}/${fd}`).startsWith("socket:")).length;
}

/** Returns where a link leads, "" when it is gone meanwhile. */
function linkAt(path: string): string {
	try {
		return readlinkSync(path);
	} catch {
		return "";
	}
}
