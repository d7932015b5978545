import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, isIPv6 } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Hono } from "hono";
import { FatalError } from "../errors.ts";
import type { Admission, Carry } from "./admission.ts";
import { loadAlreadySent } from "./already-sent.ts";
import type { Connections } from "./connections.ts";
import type { NewHeaders } from "./headers.ts";
import { answerMalformed, malformedResponse } from "./malformed.ts";

/** Limits of a connection. Design: §7, §13. */
const LIMITS = {
	headersTimeout: 10_000,
	requestTimeout: 30_000,
	keepAliveTimeout: 65_000,
	connectionsCheckingInterval: 1000,
	maxHeaderSize: 16 * 1024,
	// HTTP/1.0 has none, and nothing here uses its value.
	requireHostHeader: false,
} as const;
/** A request without a body is no stream that has to be read to its end: 2 µs each. */
const EMPTY = { optimizeEmptyRequests: true } as const;
const HANDSHAKE_MS = 10_000;
const MAX_HEADERS = 100;

/** The server's certificate and key, PEM. */
export interface TlsFiles {
	certificate: string;
	private_key: string;
}

/** Dependencies of a listener. */
interface Served {
	app: Hono<never>;
	newHeaders: NewHeaders;
	admission: Admission;
	connections: Connections;
}

/** An open listener. */
export interface Listener {
	address: { host: string; port: number };
	/** Uses another certificate for new connections. */
	renew(tls: TlsFiles): void;
	/** Stops accepting, lets requests under way finish, then closes. */
	close(): Promise<void>;
}

/** Has Node compile its pattern of addresses, which takes 4 ms of its first use, in `listen`. Call it while the server waits for something else. */
export function prepareToListen(): void {
	isIPv6("");
}

/**
 * Listens for requests, over HTTPS unless there is no certificate.
 * @throws FatalError when the address cannot be taken
 */
export async function listen(
	{ app, newHeaders, admission, connections }: Served,
	listen: { host: string; port: number },
	tls: TlsFiles | undefined,
): Promise<Listener> {
	const secure =
		tls &&
		createHttpsServer({
			...LIMITS,
			...EMPTY,
			handshakeTimeout: HANDSHAKE_MS,
			minVersion: "TLSv1.2",
			cert: tls.certificate,
			key: tls.private_key,
		});
	const server: Server = secure ?? createHttpServer({ ...LIMITS, ...EMPTY });
	connections.guard(server, admission.handle);
	answerMalformed(server, newHeaders, (socket) => connections.pipelineOf(socket));
	server.maxHeadersCount = MAX_HEADERS;
	await new Promise<void>((resolve, reject) => {
		server.once("error", (cause: NodeJS.ErrnoException) => reject(cannotListen(listen, cause)));
		server.listen(listen.port, listen.host, resolve);
	});
	admission.carryWith(loadCarrier(app, newHeaders));
	const { port } = server.address() as AddressInfo;
	return {
		address: { host: listen.host, port },
		renew: ({ certificate, private_key }) =>
			secure?.setSecureContext({ minVersion: "TLSv1.2", cert: certificate, key: private_key }),
		close: () => {
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			connections.drain();
			return closed;
		},
	};
}

/** Loads the code that carries requests after the port is reported open: this takes a tenth of a start, and only the first requests wait for it. */
async function loadCarrier(app: Hono<never>, newHeaders: NewHeaders): Promise<Carry> {
	await nextTurn();
	await loadAlreadySent();
	const { getRequestListener } = await import("@hono/node-server");
	return getRequestListener(app.fetch as Parameters<typeof getRequestListener>[0], {
		hostname: "localhost",
		errorHandler: () => malformedResponse(newHeaders),
	});
}

function cannotListen({ host, port }: { host: string; port: number }, cause: NodeJS.ErrnoException): FatalError {
	const why =
		cause.code === "EADDRINUSE"
			? "another program uses this address: stop it, or set SVC_LISTEN to another address"
			: String(cause.code);
	return new FatalError(`cannot listen on ${host}:${port}: ${why}`, 69, { cause });
}
