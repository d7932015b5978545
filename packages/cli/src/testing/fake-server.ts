import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fingerprintOf } from "../client/certificate.ts";

/** One of two self-signed certificates for 127.0.0.1, with its key. Made for tests: `openssl req -x509 -newkey ec …`. */
export type Identity = "first" | "second";

/** The fake's answer to one request: a status, a body to send as JSON, and further headers. */
export interface FakeAnswer {
	readonly status?: number;
	readonly body?: unknown;
	readonly headers?: Record<string, string>;
}

/** A request as it arrived. */
interface SeenRequest {
	readonly method: string;
	/** Path and query as sent. */
	readonly url: string;
	readonly headers: http.IncomingHttpHeaders;
	/** The JSON of the body; undefined without one. */
	readonly body: unknown;
}

/** A server that answers from a function and records requests. */
export interface FakeServer extends AsyncDisposable {
	readonly address: string;
	readonly requests: SeenRequest[];
	/** Switches to another certificate. */
	present(identity: Identity): void;
}

/** Key and certificate of an identity, in PEM. */
export function identityOf(name: Identity): { key: string; cert: string } {
	const read = (part: string) => readFileSync(new URL(`../fixtures/${name}-${part}.pem`, import.meta.url), "utf8");
	return { key: read("key"), cert: read("certificate") };
}

/** Fingerprint of an identity's certificate. */
export function fingerprintOfIdentity(name: Identity): string {
	return fingerprintOf(identityOf(name).cert);
}

/** Makes a fake's answers. */
type Responder = (request: SeenRequest) => FakeAnswer | Promise<FakeAnswer>;

/** Starts a fake on a free port of the loopback interface, over https, or http when `plain`. */
export async function startFake(answer: Responder, { plain = false } = {}): Promise<FakeServer> {
	const requests: SeenRequest[] = [];
	const listener: http.RequestListener = async (request, response) => {
		const body = await text(request);
		const seen = {
			method: request.method ?? "",
			url: request.url ?? "",
			headers: request.headers,
			body: body === "" ? undefined : JSON.parse(body),
		};
		requests.push(seen);
		const { status = 200, body: answered = {}, headers = {} } = await answer(seen);
		response.writeHead(status, { "content-type": "application/json", ...headers });
		response.end(typeof answered === "string" ? answered : JSON.stringify(answered));
	};
	const secure = plain ? undefined : https.createServer(identityOf("first"), listener);
	const server = secure ?? http.createServer(listener);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return {
		address: `${plain ? "http" : "https"}://127.0.0.1:${port}`,
		requests,
		present: (identity) => secure?.setSecureContext(identityOf(identity)),
		[Symbol.asyncDispose]: async () => {
			server.closeAllConnections();
			server.close();
			await once(server, "close");
		},
	};
}

/** Starts a fake over http, with the environment of a user who has a token for it. */
export async function startService(answer: Responder) {
	const server = await startFake(answer, { plain: true });
	return Object.assign(server, { env: { SVC_TOKEN: "svc_token", SVC_ADDRESS: server.address } });
}

/** The answer of a list with one page. */
export function page(field: string, rows: readonly object[]): FakeAnswer {
	return { body: { [field]: rows, pagination: { has_more: false } } };
}

/** An error answer. */
export function refusal(
	status: number,
	code: string,
	message: string,
	headers: Record<string, string> = {},
): FakeAnswer {
	return { status, body: { error: { code, message, status } }, headers };
}
