import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";

/** An answer, or none: status 0. */
export interface Reply {
	readonly status: number;
	readonly request_id: string | undefined;
	// biome-ignore lint/suspicious/noExplicitAny: the JSON of any route
	readonly body: any;
}

/** A request below `/api/v1`. */
export interface Sent {
	readonly method: "GET" | "POST" | "DELETE" | "PUT";
	readonly path: string;
	readonly token: string;
	readonly body?: object;
}

/** Sends requests to one server, each once: a request that is sent again could take effect twice. */
export type Send = (sent: Sent) => Promise<Reply>;

/** Milliseconds after which an answer counts as lost. */
const ANSWER_MS = 20_000;

const NONE: Reply = { status: 0, request_id: undefined, body: undefined };

/** Makes a client. @param ca the server's certificate, in PEM */
export function createClient(url: string, ca: string): Send {
	const agent = new Agent({ keepAlive: true, maxSockets: 32, ca });
	return async ({ method, path, token, body }) => {
		const json = body === undefined ? undefined : JSON.stringify(body);
		const headers = {
			authorization: `Bearer ${token}`,
			...(json !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(json) }),
		};
		try {
			const signal = AbortSignal.timeout(ANSWER_MS);
			const outgoing = request(`${url}/api/v1${path}`, { agent, method, headers, signal });
			// A connection that breaks later ends the reading of the answer.
			outgoing.on("error", () => undefined);
			outgoing.end(json);
			const [incoming]: IncomingMessage[] = await once(outgoing, "response");
			if (incoming === undefined) return NONE;
			const answer = await text(incoming);
			const { "x-request-id": id } = incoming.headers;
			return { status: incoming.statusCode ?? 0, request_id: String(id), body: JSON.parse(answer || "null") };
		} catch {
			return NONE;
		}
	};
}
