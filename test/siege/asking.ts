import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import type { Counts, Target } from "./attack.ts";
import type { RequestText } from "./connection.ts";

/** Milliseconds to wait for an answer, and before the next request after a failure. */
const PATIENCE_MS = 60_000;
const AGAIN_MS = 100;

/** The destination of a request. */
type Endpoint = Pick<Target, "host" | "port">;

async function send({ host, port }: Endpoint, agent: Agent, text: RequestText): Promise<IncomingMessage> {
	const { method = "GET", path, headers, body } = text;
	const signal = AbortSignal.timeout(PATIENCE_MS);
	const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
	const outgoing = request({ host, port, method, path, agent, signal, headers: { ...headers, ...length } });
	outgoing.on("error", () => undefined);
	outgoing.end(body);
	const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
	return incoming;
}

/** Connections that ask as fast as they are answered, and read each answer to its end. */
export interface Askers {
	readonly connections: number;
	/** Returns the address of a connection. */
	source(at: number): string;
	/** Returns the next request of a connection. */
	next(at: number): RequestText;
	/** Milliseconds from one request to the next; without a value they do not pause. */
	readonly everyMs?: number;
}

/** Lets them ask until it is over. Counts answers by status, and missing or incomplete ones as `cut`. */
export async function keepAsking(target: Target, askers: Askers, counts: Counts, over: AbortSignal): Promise<void> {
	const { connections, source, next, everyMs = 0 } = askers;
	const one = async (at: number): Promise<void> => {
		const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: source(at), rejectUnauthorized: false });
		// Spread over time, as real clients would be.
		await wait((Math.max(everyMs, AGAIN_MS) * at) / connections);
		while (!over.aborted) {
			const pause = wait(everyMs);
			try {
				const incoming = await send(target, agent, next(at));
				for await (const piece of incoming) counts.add("bytes", (piece as Buffer).length);
				counts.add(incoming.statusCode ?? 0);
			} catch {
				counts.add("cut");
				await wait(AGAIN_MS);
			}
			await pause;
		}
		agent.destroy();
	};
	await Promise.all(Array.from({ length: connections }, (_, at) => one(at)));
}

/**
 * Sends one request that must succeed.
 * @throws Error with the status when it fails
 */
export async function ask(endpoint: Endpoint, text: RequestText, token?: string): Promise<Told> {
	const agent = new Agent({ rejectUnauthorized: false });
	const headers = { ...text.headers, ...(token !== undefined && signedIn({ token })) };
	const incoming = await send(endpoint, agent, { ...text, headers });
	const body = (await buffer(incoming)).toString();
	const status = incoming.statusCode ?? 0;
	if (status >= 400) throw new Error(`${text.path} is answered with ${status}: ${body.slice(0, 200)}`);
	return { headers: incoming.headers, body };
}

/** Sends requests in parallel and reads their answers, whatever they are: prepares what the first request of a kind starts. */
export async function touch(endpoint: Endpoint, ...texts: readonly RequestText[]): Promise<void> {
	const agent = new Agent({ rejectUnauthorized: false });
	await Promise.all(texts.map(async (text) => buffer(await send(endpoint, agent, text))));
}

/** An answer read to its end. */
export interface Told {
	readonly headers: IncomingHttpHeaders;
	readonly body: string;
}

/** Returns the headers for a token. */
export function signedIn({ token }: Pick<Target, "token">): Record<string, string> {
	return { authorization: `Bearer ${token}` };
}

/** Makes a JSON request. */
export function posting(path: string, body: object | string, headers: Record<string, string> = {}): RequestText {
	const text = typeof body === "string" ? body : JSON.stringify(body);
	return { method: "POST", path, headers: { ...headers, "content-type": "application/json" }, body: text };
}
