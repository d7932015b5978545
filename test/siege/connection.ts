import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectSecure, type TLSSocket } from "node:tls";
import type { Counts, Target } from "./attack.ts";

/** Milliseconds between two looks for connections to open, and the maximum number of connections opened in total. */
const TICK_MS = 50;
const MOST_OPENED = 40_000;

/** Opens a TCP connection from this address. Its failures are not errors. */
export function openPlain({ host, port }: Target, source: string): Socket {
	return connectPlain({ host, port, localAddress: source }).on("error", () => undefined);
}

/** Opens a TLS connection from this address. It does not check the certificate: both ends are ours and on this machine. */
export function openSecure({ host, port }: Target, source: string): TLSSocket {
	const options = { host, port, localAddress: source, rejectUnauthorized: false };
	return connectSecure(options).on("error", () => undefined);
}

/** Number of connections to keep open, and of those to open in a twentieth of a second. */
export interface Crowd {
	readonly standing: number;
	readonly perTick: number;
	open(at: number): Socket;
}

/** Keeps connections open: opens them little by little, and replaces those that were closed. */
export async function keepStanding({ standing, perTick, open }: Crowd, counts: Counts, over: AbortSignal) {
	const sockets = new Set<Socket>();
	let opened = 0;
	while (!over.aborted) {
		for (let left = perTick; left > 0 && sockets.size < standing && opened < MOST_OPENED; left--) {
			const socket = open(opened++);
			sockets.add(socket);
			counts.add("opened");
			socket.once("close", () => {
				sockets.delete(socket);
				if (!over.aborted) counts.add("closed");
			});
		}
		await wait(TICK_MS);
	}
	counts.add("standing at the end", sockets.size);
}

/** A request in the form in which it is sent. */
export interface RequestText {
	readonly method?: string;
	readonly path: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: string;
}

/** Returns the bytes of a request. */
export function bytesOf({ method = "GET", path, headers = {}, body }: RequestText): Buffer {
	const all = {
		host: "localhost",
		...headers,
		...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
	};
	const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
	return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`);
}

/** Milliseconds before an attacker connects again after a cut. */
const AGAIN_MS = 100;

/**
 * Asks on one connection after the other as fast as it is answered. Answers must be small enough to arrive in one chunk.
 * @param next returns the bytes of the request; an attacker with only one request makes them once
 */
export async function askWithoutPause(
	target: Target,
	source: string,
	next: () => Buffer,
	counts: Counts,
	over: AbortSignal,
): Promise<void> {
	while (!over.aborted) {
		const socket = openSecure(target, source);
		const closed = once(socket, "close");
		socket.once("secureConnect", () => socket.write(next()));
		socket.on("data", (bytes: Buffer) => {
			if (bytes.subarray(0, 5).toString("latin1") !== "HTTP/") return;
			counts.add(bytes.subarray(9, 12).toString("latin1"));
			if (!over.aborted) socket.write(next());
		});
		const ended = new Promise((resolve) => over.addEventListener("abort", resolve, { once: true }));
		await Promise.race([closed, ended]);
		if (over.aborted) break;
		counts.add("cut");
		await wait(AGAIN_MS);
	}
}
