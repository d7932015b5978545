import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Hono } from "hono";
import { FatalError } from "../errors.ts";
import type { Admit, Carry } from "./admission.ts";
import type { NewHeaders } from "./headers.ts";
import { answerHostless, answerMalformed, malformedResponse } from "./malformed.ts";

/** Limits of a connection. Design: §7. */
const LIMITS = {
	headersTimeout: 10_000,
	requestTimeout: 30_000,
	keepAliveTimeout: 65_000,
	connectionsCheckingInterval: 1000,
	maxHeaderSize: 16 * 1024,
	// HTTP/1.0 has none, and we do not look at it.
	requireHostHeader: false,
} as const;
const MAX_CONNECTIONS = 10_000;
const MAX_HEADERS = 100;

/** Milliseconds that requests under way have when the server stops. */
const DRAIN_MS = 15_000;

/** The server's certificate and key, PEM. */
export interface TlsFiles {
	certificate: string;
	private_key: string;
}

/** An open listener. */
export interface Listener {
	address: { host: string; port: number };
	/** Uses another certificate for new connections. */
	renew(tls: TlsFiles): void;
	/** Stops accepting, lets requests under way finish, then closes. */
	close(): Promise<void>;
}

/**
 * Listens for requests, over HTTPS unless there is no certificate.
 * @throws FatalError when the address cannot be taken
 */
export async function listen(
	{ app, newHeaders, admit }: { app: Hono<never>; newHeaders: NewHeaders; admit: Admit },
	listen: { host: string; port: number },
	tls: TlsFiles | undefined,
): Promise<Listener> {
	let carry: Carry = async (...exchange) => (await loading)(...exchange);
	const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => {
		if (!answerHostless(incoming, outgoing, newHeaders)) admit(incoming, outgoing, carry);
	};
	const secure =
		tls &&
		createHttpsServer({ ...LIMITS, minVersion: "TLSv1.2", cert: tls.certificate, key: tls.private_key }, onRequest);
	const server: Server = secure ?? createHttpServer(LIMITS, onRequest);
	answerMalformed(server, newHeaders);
	server.maxConnections = MAX_CONNECTIONS;
	server.maxHeadersCount = MAX_HEADERS;
	await new Promise<void>((resolve, reject) => {
		server.once("error", (cause: NodeJS.ErrnoException) => reject(cannotListen(listen, cause)));
		server.listen(listen.port, listen.host, resolve);
	});
	const loading = loadCarrier(app, newHeaders);
	void loading.then((loaded) => {
		carry = loaded;
	});
	const { port } = server.address() as AddressInfo;
	return {
		address: { host: listen.host, port },
		renew: ({ certificate, private_key }) =>
			secure?.setSecureContext({ minVersion: "TLSv1.2", cert: certificate, key: private_key }),
		close: () => close(server),
	};
}

/** Loads what carries requests once whoever waits for the port is told that it is open: it takes a tenth of a start, and only the first requests wait for it. */
async function loadCarrier(app: Hono<never>, newHeaders: NewHeaders): Promise<Carry> {
	await nextTurn();
	const { getRequestListener } = await import("@hono/node-server");
	return getRequestListener(app.fetch as Parameters<typeof getRequestListener>[0], {
		hostname: "localhost",
		errorHandler: () => malformedResponse(newHeaders),
	});
}

function close(server: Server): Promise<void> {
	return new Promise((resolve) => {
		const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
		server.close(() => {
			clearTimeout(deadline);
			resolve();
		});
		server.closeIdleConnections();
	});
}

function cannotListen({ host, port }: { host: string; port: number }, cause: NodeJS.ErrnoException): FatalError {
	const why =
		cause.code === "EADDRINUSE"
			? "another program has it: stop that, or set SVC_LISTEN to another address"
			: String(cause.code);
	return new FatalError(`cannot listen on ${host}:${port}: ${why}`, 69, { cause });
}
