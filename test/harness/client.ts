import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { buffer } from "node:stream/consumers";
import type { Server } from "../harness.ts";
import { NODES } from "./nodes.ts";

const PREFIX = "/api/v1";
const ANSWER_TIMEOUT_MS = 120_000;

/** Options of a request beyond its method, path and JSON body. */
export interface RequestOptions {
	readonly token?: string | undefined;
	readonly headers?: Readonly<Record<string, string>>;
	/** Body bytes, sent exactly as they are; the content type stays `application/json` unless `headers` changes it. */
	readonly raw?: string | Buffer;
	/** Sends the body in chunks, without a length. */
	readonly chunked?: boolean;
	/** Sends no content type. */
	readonly untyped?: boolean;
}

/** An answer read to its end. `body` is the parsed JSON, and undefined when the answer is not JSON. */
export interface Answer<T = unknown> {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly text: string;
	readonly body: T;
}

/** A client of one server that trusts only its certificate and keeps its connections. Paths are below `/api/v1`. */
export interface Api {
	get<T = unknown>(path: string, options?: RequestOptions): Promise<Answer<T>>;
	post<T = unknown>(path: string, body?: unknown, options?: RequestOptions): Promise<Answer<T>>;
	put<T = unknown>(path: string, body?: unknown, options?: RequestOptions): Promise<Answer<T>>;
	delete<T = unknown>(path: string, options?: RequestOptions): Promise<Answer<T>>;
	/** Sends any method to any path, from the root of the server. */
	send<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>;
}

/** Makes the client. Every answer, in any test, must keep the promises of `assertPromises`. */
export function api(server: Server): Api {
	// Behind a balancer, connections that take turns bring one request after another to different servers.
	const agents = Array.from({ length: NODES }, () => new Agent({ keepAlive: true, maxSockets: 32 }));
	let turn = 0;
	const send = async <T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> => {
		const agent = agents[turn++ % NODES] ?? assert.fail();
		const answer = await exchange(server, agent, method, path, options);
		assertPromises(`${method} ${path.slice(0, 200)}`, path, answer);
		return answer as Answer<T>;
	};
	return {
		send,
		get: (path, options) => send("GET", `${PREFIX}${path}`, options),
		post: (path, body, options) => send("POST", `${PREFIX}${path}`, { ...json(body), ...options }),
		put: (path, body, options) => send("PUT", `${PREFIX}${path}`, { ...json(body), ...options }),
		delete: (path, options) => send("DELETE", `${PREFIX}${path}`, options),
	};
}

function json(body: unknown): RequestOptions {
	return body === undefined ? {} : { raw: JSON.stringify(body) };
}

async function exchange(
	server: Server,
	agent: Agent,
	method: string,
	path: string,
	options: RequestOptions,
): Promise<Answer> {
	const { hostname, port } = new URL(server.url);
	const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
	const outgoing = request({ agent, ca: server.ca, hostname, port, method, path, headers: headersOf(options), signal });
	// After the answer to an oversized body, writing the rest of it may fail; only the answer counts.
	outgoing.on("error", () => undefined);
	outgoing.end(options.raw);
	const incoming = await once(outgoing, "response").then(
		([response]) => response as IncomingMessage,
		(error: NodeJS.ErrnoException) => error,
	);
	if (incoming instanceof Error) {
		// An idle connection that the server closed at this very moment took nothing of the request with it.
		if (outgoing.reusedSocket && incoming.code === "ECONNRESET") return exchange(server, agent, method, path, options);
		throw incoming;
	}
	return readAnswer(incoming.statusCode ?? 0, incoming.headers, await buffer(incoming));
}

function headersOf({ token, headers, raw, chunked, untyped }: RequestOptions): OutgoingHttpHeaders {
	const length = raw === undefined ? 0 : Buffer.byteLength(raw);
	return {
		...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
		...(raw === undefined || untyped ? {} : { "content-type": "application/json" }),
		...(chunked ? { "transfer-encoding": "chunked" } : raw === undefined ? {} : { "content-length": length }),
		...headers,
	};
}

/** Decodes text strictly: a byte that is not UTF-8 fails the test, and a byte order mark is kept. In a file, each byte becomes a character. */
function readAnswer(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Answer {
	const isFile = headers["content-type"] === "application/octet-stream";
	const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
	const text = isFile ? bytes.toString("latin1") : decoder.decode(bytes);
	const isJson = headers["content-type"]?.startsWith("application/json") === true;
	return { status, headers, text, body: isJson && text !== "" ? JSON.parse(text) : undefined };
}

/**
 * Checks the promises of every answer: a request id, no caching below the prefix, never an internal error, and errors only in
 * the shape of the error object.
 * Design: §7, §7.2.
 */
function assertPromises(what: string, path: string, answer: Answer): void {
	assert.ok(answer.status !== 500, `${what} answered 500: ${answer.text}`);
	assert.match(String(answer.headers["x-request-id"] ?? ""), /\S/, `${what} answered without X-Request-Id`);
	if (path.startsWith(`${PREFIX}/`)) {
		assert.equal(answer.headers["cache-control"], "no-store", `${what} answered without Cache-Control: no-store`);
	}
	if (answer.status < 400) return;
	const body = answer.body as { error?: unknown } | undefined;
	const isSyncMiss = answer.status === 404 && answer.text === '{"error":"secret not found"}';
	const isHealth = answer.status === 503 && path.split("?")[0] === `${PREFIX}/health`;
	if (isSyncMiss || isHealth) return;
	assert.ok(typeof body?.error === "object" && body.error !== null, `${what}: no error object in ${answer.text}`);
	assert.deepEqual(new Set(Object.keys(body.error)), new Set(["code", "message", "status"]), what);
}
