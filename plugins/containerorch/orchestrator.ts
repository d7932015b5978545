import { type Fields, isObject, MASK } from "@svc/plugin-sdk";
import { Agent, buildConnector, type Dispatcher, request } from "undici";
import type { Connection } from "./config.ts";
import { printable } from "./printable.ts";
import { ConfigError } from "./source.ts";

/** Milliseconds for one call, from connecting to the last byte of the answer. Spec: ENGINES › Limits */
const CALL_TIMEOUT_MS = 10_000;
/** The most bytes read of an answer; a page of a list is the largest. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** The most bytes of an answer that a message shows. */
const MAX_SHOWN_BYTES = 2048;

/** One call of the API. */
interface Call {
	method: "GET" | "POST" | "DELETE";
	/** Made of names that need no encoding. */
	path: string;
	/** Sent as JSON. */
	body?: Fields;
	/** Ends the call, in place of its own timeout. */
	signal?: AbortSignal;
}

/** A failed call. The message names method and path, then status and answer, or why there was none. */
export class CallError extends Error {
	override readonly name = "CallError";
	/** Undefined when there was no answer. */
	readonly status: number | undefined;
	/** True if the server may have done the request all the same. */
	readonly isOpen: boolean;

	constructor(message: string, outcome: { status?: number; isOpen: boolean }) {
		super(message);
		this.status = outcome.status;
		this.isOpen = outcome.isOpen;
	}
}

/** A client of the orchestrator's API. */
export interface Orchestrator {
	/** Milliseconds for one call. */
	readonly timeout_ms: number;
	/**
	 * Makes one call. It is never repeated, and a redirect is not followed.
	 * @returns the object in the answer; empty when there is none
	 * @throws CallError when the status is not 2xx, or there is no answer within 10 s
	 */
	call(call: Call): Promise<Fields>;
	/** Ends the connections. */
	close(): Promise<void>;
}

/** A failed connection: nothing was asked. */
class ConnectError extends Error {
	override readonly name = "ConnectError";
}

/** Makes a client; it connects at the first call. @param timeout_ms milliseconds for one call */
export function createOrchestrator(connection: Connection, timeout_ms = CALL_TIMEOUT_MS): Orchestrator {
	const dispatcher = createAgent(connection, timeout_ms);
	const base = connection.api_server.href.replace(/\/$/, "");
	return {
		timeout_ms,
		async call({ method, path, body, signal = AbortSignal.timeout(timeout_ms) }) {
			const what = `${method} ${path}`;
			const token = readToken(what, connection);
			const answer = await request(base + path, {
				dispatcher,
				method,
				signal,
				headers: headersOf(token),
				body: body === undefined ? null : JSON.stringify(body),
			}).catch((error: unknown) => {
				throw noAnswer(what, error, timeout_ms);
			});
			const text = await readAnswer(answer).catch((error: unknown) => {
				throw noAnswer(what, error, timeout_ms);
			});
			if (!isSuccess(answer)) throw refusal(what, answer.statusCode, mask(text, token));
			return parseObject(text);
		},
		close: () => dispatcher.destroy(),
	};
}

/** Reads the token again for every call: a token in a file is replaced from time to time. */
function readToken(what: string, { bearerToken }: Connection): string | undefined {
	try {
		return bearerToken?.();
	} catch (error) {
		if (error instanceof ConfigError) throw new CallError(`${what}: ${error.message}`, { isOpen: false });
		throw error;
	}
}

function createAgent({ tls }: Connection, timeout_ms: number): Agent {
	const connect = buildConnector({ ...tls, allowH2: false, timeout: timeout_ms });
	return new Agent({
		// In HTTP/1.1 an abandoned call ends its own connection, and nothing else.
		allowH2: false,
		connect: (options, done) => {
			connect(options, (error, socket) => {
				if (error === null) done(null, socket);
				else done(new ConnectError("no connection", { cause: error }), null);
			});
		},
	});
}

/** Spec: ENGINES › containerorch operations */
function headersOf(token: string | undefined): Record<string, string> {
	return {
		accept: "application/json",
		"content-type": "application/json",
		"user-agent": "svc-plugin-containerorch",
		...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
	};
}

/** Reads the first bytes of an answer, as text. A truncated refusal is still a refusal; a truncated success is none. */
async function readAnswer(answer: Dispatcher.ResponseData): Promise<string> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	try {
		for await (const chunk of answer.body as AsyncIterable<Buffer>) {
			chunks.push(chunk);
			bytes += chunk.length;
			if (bytes >= MAX_ANSWER_BYTES) break;
		}
	} catch (error) {
		if (isSuccess(answer)) throw error;
	}
	return Buffer.concat(chunks).toString("utf8", 0, MAX_ANSWER_BYTES);
}

function isSuccess({ statusCode }: Dispatcher.ResponseData): boolean {
	return statusCode >= 200 && statusCode < 300;
}

function parseObject(text: string): Fields {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : {};
	} catch {
		return {};
	}
}

/** Masks the token: some servers repeat what they received. */
function mask(text: string, token: string | undefined): string {
	return token === undefined ? text : text.replaceAll(token, MASK);
}

/** Spec: ENGINES › Errors. A server that answers 5xx may have done what it was asked before it failed. */
function refusal(what: string, status: number, text: string): CallError {
	const body = printable(text, MAX_SHOWN_BYTES);
	return new CallError(`${what}: status ${status}${body === "" ? "" : `: ${body}`}`, { status, isOpen: status >= 500 });
}

function noAnswer(what: string, error: unknown, timeout_ms: number): CallError {
	if (error instanceof ConnectError) {
		return new CallError(`${what}: no connection${codeOf(error.cause)}`, { isOpen: false });
	}
	const isTimeout = error instanceof Error && error.name === "TimeoutError";
	const why = isTimeout ? ` within ${timeout_ms / 1000} s` : codeOf(error);
	return new CallError(`${what}: no answer${why}`, { isOpen: true });
}

/** Returns the system's or TLS's code for an error, such as ` (ECONNREFUSED)`. Its message would contain an address. */
function codeOf(error: unknown): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	return typeof code === "string" && /^\w{1,60}$/.test(code) ? ` (${code})` : "";
}
