import { once } from "node:events";
import { type Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";

const ANSWER_TIMEOUT_MS = 30_000;

/** A request. */
export interface Ask {
	readonly method: "GET" | "POST" | "PUT";
	readonly path: string;
	readonly token?: string;
	readonly cookie?: string;
	/** Sent as JSON. */
	readonly body?: object;
	/** Sent as a browser sends a form, in place of a body. */
	readonly form?: Readonly<Record<string, string>>;
	/** Further headers. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Loopback address that it is sent from; the system's choice without one. */
	readonly from?: string;
}

/** An answer, read to its end. */
export interface Answer {
	readonly status: number;
	/** As received, in order. */
	readonly headers: readonly (readonly [name: string, value: string])[];
	readonly body: string;
}

/** Headers of a request as both wrk and our own client send them. */
export function headersOf({ token, cookie, body, form, headers }: Ask): Record<string, string> {
	return {
		...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
		...(cookie === undefined ? {} : { cookie }),
		...(body === undefined ? {} : { "content-type": "application/json" }),
		...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
		...headers,
	};
}

/** Content after the headers; undefined when there is none. */
export function bodyOf({ body, form }: Ask): string | undefined {
	return form === undefined ? body && JSON.stringify(body) : new URLSearchParams(form).toString();
}

/**
 * Sends one request and reads its answer. Does not check the certificate: both ends are ours and on this machine.
 * @throws Error when there is no answer within 30 s
 */
export async function exchange(url: string, ask: Ask, agent?: Agent): Promise<Answer> {
	const { protocol, hostname, port } = new URL(url);
	const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
	const body = bodyOf(ask) ?? "";
	const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
	const { method, path, from: localAddress } = ask;
	const options = {
		hostname,
		port,
		method,
		path,
		localAddress,
		headers: { ...headersOf(ask), ...length },
		signal,
		agent,
	};
	const outgoing =
		protocol === "https:" ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
	outgoing.end(body);
	const [incoming] = (await once(outgoing, "response", { signal })) as [IncomingMessage];
	return { status: incoming.statusCode ?? 0, headers: pairs(incoming.rawHeaders), body: await text(incoming) };
}

/**
 * Sends a request whose answer is JSON, and returns that.
 * @throws Error with status and path when it did not succeed
 */
export async function ask<T>(url: string, request: Ask): Promise<T> {
	const { status, body } = await exchange(url, request);
	if (status >= 300) throw new Error(`${request.method} ${request.path} is answered with ${status}`);
	return JSON.parse(body) as T;
}

function pairs(raw: readonly string[]): [string, string][] {
	return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] as [string, string]] : []));
}
