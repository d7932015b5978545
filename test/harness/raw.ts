import { connect } from "node:tls";
import type { Server } from "../harness.ts";

const CLOSE_TIMEOUT_MS = 15_000;

/**
 * Sends these bytes over TLS, however little they look like a request, and returns everything that comes back until the
 * server closes the connection. A reset connection counts as closed.
 * @throws Error when the server keeps the connection open for 15 s
 */
export async function exchangeBytes(server: Server, bytes: string | Buffer): Promise<string> {
	const { hostname, port } = new URL(server.url);
	const socket = connect({ host: hostname, port: Number(port), ca: server.ca });
	let received = "";
	socket.setEncoding("latin1").on("data", (text: string) => {
		received += text;
	});
	socket.on("error", () => undefined);
	const timeout = setTimeout(() => socket.destroy(new Error("timeout")), CLOSE_TIMEOUT_MS);
	socket.write(bytes);
	await new Promise((resolve) => socket.once("close", resolve));
	clearTimeout(timeout);
	if (socket.errored?.message === "timeout") throw new Error("the server keeps the connection open");
	return received;
}

/** Returns the status codes of the answers in the result of `exchangeBytes`. */
export function statusesIn(received: string): number[] {
	return [...received.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map((match) => Number(match[1]));
}
