import { connect, type Socket } from "node:net";
import { type Ask, bodyOf, headersOf } from "../exchange.ts";

/** Milliseconds that a round may take. */
const ROUND_MS = 60_000;

/**
 * Sends requests over plain HTTP, each connection its next one when its last was answered. It reads no more of an answer than its status and length: the
 * load generator must not take the processor.
 * @throws Error when one is not answered with success
 */
export async function sendAll(url: string, connections: number, requests: readonly Ask[]): Promise<void> {
	const { hostname, port, host } = new URL(url);
	const texts = requests.map((request) => textOf(request, host));
	let next = 0;
	const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname).setNoDelay());
	const timer = setTimeout(() => {
		for (const socket of sockets) socket.destroy(new Error("a round took too long"));
	}, ROUND_MS);
	try {
		await Promise.all(sockets.map((socket) => drain(socket, () => texts[next++])));
	} finally {
		clearTimeout(timer);
		for (const socket of sockets) socket.destroy();
	}
}

function textOf(request: Ask, host: string): string {
	const body = bodyOf(request) ?? "";
	const headers = { host, ...headersOf(request), "content-length": String(Buffer.byteLength(body)) };
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	return `${request.method} ${request.path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** Sends requests over one connection, one after another, until there are no more. */
function drain(socket: Socket, next: () => string | undefined): Promise<void> {
	return new Promise((resolve, reject) => {
		let received = "";
		const stop = (settle: () => void) => {
			socket.off("data", take).off("error", fail).off("close", fail);
			settle();
		};
		const fail = (error: unknown) =>
			stop(() => reject(error instanceof Error ? error : new Error("a connection ended")));
		const go = () => {
			const text = next();
			if (text === undefined) stop(resolve);
			else socket.write(text);
		};
		const take = (bytes: Buffer) => {
			received += bytes.toString("latin1");
			const end = received.indexOf("\r\n\r\n");
			if (end < 0) return;
			const head = received.slice(0, end);
			const [, status = ""] = /^HTTP\/1\.1 (\d+)/.exec(head) ?? [];
			if (!status.startsWith("2"))
				return fail(new Error(`a request is answered with ${status}: ${received.slice(end + 4, end + 300)}`));
			const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
			if (length === undefined && status !== "204") return fail(new Error("an answer says no length"));
			if (received.length < end + 4 + Number(length ?? 0)) return;
			received = "";
			go();
		};
		socket.on("data", take).on("error", fail).on("close", fail);
		go();
	});
}
