import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createIdentity } from "./identity.ts";

/** The data about a provider that a server needs to sign people in. */
export interface OidcPeer {
	readonly issuer: string;
	readonly client_id: string;
	readonly client_secret: string;
	/** PEM of the authority that signed its certificate. */
	readonly ca_cert: string;
}

/** An HTTPS server on loopback with its own authority. */
export interface TlsServer {
	/** Origin, such as `https://127.0.0.1:40123`. */
	readonly origin: string;
	/** PEM of the authority that signed its certificate. */
	readonly ca: string;
	answer(listener: RequestListener): void;
	stop(): Promise<void>;
}

/** Starts a server on a free port. To browsers, 127.0.0.1 is another site than the localhost of the server under test. */
export async function startTlsServer(): Promise<TlsServer> {
	const { ca, key, cert } = await createIdentity(["127.0.0.1"]);
	const server = createServer({ key, cert });
	await once(server.listen(0, "127.0.0.1"), "listening");
	return {
		origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
		ca,
		answer: (listener) => void server.on("request", listener),
		async stop() {
			const closed = once(server.close(), "close");
			server.closeAllConnections();
			await closed;
		},
	};
}
