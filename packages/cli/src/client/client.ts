import http from "node:http";
import https from "node:https";
import { Failure } from "../failure.ts";
import { type Answer, isAnswer } from "./answer.ts";
import { type Trust, tlsOptions } from "./certificate.ts";
import { explainConnection, explainRefusal } from "./failures.ts";

/** Milliseconds for one request, from connecting to the last byte of the answer. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Most bytes of an answer. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** A server, its trust and the caller's token. */
export interface Client {
	/** As parseAddress spells it. */
	readonly address: string;
	readonly trust: Trust | undefined;
	/** Absent for calls that need no login. */
	readonly token: string | undefined;
	/** Keeps the connection open between requests, but the process alive only during one. */
	readonly agent: http.Agent;
	readonly timeoutMs: number;
	/** Gets another token in place of one that the server has refused; absent when there is only the one. */
	readonly renew?: (refused: string) => Promise<string>;
}

/** One call of an endpoint. */
export interface Call {
	readonly method: "GET" | "POST" | "PUT" | "DELETE";
	/** Below `/api/v1`, made with `path`. */
	readonly path: string;
	readonly query?: Readonly<Record<string, string>>;
	/** Sent as JSON. */
	readonly body?: object;
	/** Statuses beyond 2xx whose answer is returned, not thrown. */
	readonly accept?: readonly number[];
}

/** A client; it connects at the first call. */
export function createClient(
	server: Pick<Client, "address" | "trust" | "token">,
	timeoutMs = REQUEST_TIMEOUT_MS,
): Client {
	const secure = server.address.startsWith("https:");
	// No cached TLS sessions: a resumed one skips the certificate check.
	const agent = secure
		? new https.Agent({ keepAlive: true, maxCachedSessions: 0, ...tlsOptions(server.trust) })
		: new http.Agent({ keepAlive: true });
	return { ...server, agent, timeoutMs };
}

/** Template tag for a path: every value becomes one segment, whatever it holds. @throws Failure usage when a value is empty */
export function path(literals: TemplateStringsArray, ...values: readonly string[]): string {
	if (values.includes("")) throw new Failure("usage", "a name must not be empty");
	return String.raw({ raw: literals }, ...values.map(encodeURIComponent));
}

/** An answer with its status and headers. */
export interface Reply {
	readonly status: number;
	readonly headers: http.IncomingHttpHeaders;
	readonly answer: Answer;
}

/**
 * Sends one request, a second time only when the token was refused and `renew` gives another, and returns the object in its answer.
 * @throws Failure by the status of the answer, or unreachable when no intelligible answer arrives
 */
export async function send(client: Client, call: Call): Promise<Answer> {
	return (await sendForReply(client, call)).answer;
}

/** Like `send`, for a call whose status or headers matter, too. */
export async function sendForReply(client: Client, call: Call): Promise<Reply> {
	const { status, headers, body } = await exchangeRenewed(client, call).catch(async (error: unknown) => {
		throw error instanceof Failure ? error : await explainConnection(client, call.method, error);
	});
	const answer = parseAnswer(body);
	if ((status >= 200 && status < 300) || call.accept?.includes(status)) {
		if (answer !== undefined) return { status, headers, answer };
		throw new Failure("unreachable", "the answer is not a JSON object: this is no svc server", {
			code: "unexpected_answer",
		});
	}
	throw explainRefusal(client, call, { status, retryAfter: headers["retry-after"], answer });
}

/**
 * Like `send`, for an answer that is not JSON and may be long: leaves its body unread.
 * @throws Failure as send
 */
export async function sendForContent(client: Client, call: Call): Promise<http.IncomingMessage> {
	const response = await request(client, call).catch(async (error: unknown) => {
		throw await explainConnection(client, call.method, error);
	});
	const status = response.statusCode ?? 0;
	if (status === 200) return response;
	const renewed = await renewedAfter(client, call, status);
	if (renewed !== undefined) {
		response.resume();
		return sendForContent(renewed, call);
	}
	const answer = parseAnswer(await readBody(response));
	throw explainRefusal(client, call, { status, retryAfter: response.headers["retry-after"], answer });
}

interface RawAnswer {
	readonly status: number;
	readonly headers: http.IncomingHttpHeaders;
	readonly body: Buffer;
}

async function exchangeRenewed(client: Client, call: Call): Promise<RawAnswer> {
	const answered = await exchange(client, call);
	const renewed = await renewedAfter(client, call, answered.status);
	return renewed === undefined ? answered : exchange(renewed, call);
}

/** The client with another token, which is not replaced again, when the server has refused its own. A refused request has changed nothing. */
async function renewedAfter({ renew, ...client }: Client, call: Call, status: number): Promise<Client | undefined> {
	if (status !== 401 || renew === undefined || client.token === undefined || call.accept?.includes(401))
		return undefined;
	return { ...client, token: await renew(client.token) };
}

async function exchange(client: Client, call: Call): Promise<RawAnswer> {
	const response = await request(client, call);
	return { status: response.statusCode ?? 0, headers: response.headers, body: await readBody(response) };
}

async function request(client: Client, call: Call): Promise<http.IncomingMessage> {
	const url = new URL(client.address);
	const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
	const payload = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
	const outgoing = (url.protocol === "https:" ? https : http).request({
		agent: client.agent,
		protocol: url.protocol,
		hostname: url.hostname.replace(/^\[|\]$/g, ""),
		port: url.port,
		method: call.method,
		path: `${url.pathname.replace(/\/$/, "")}/api/v1/${call.path}${queryText(call.query)}`,
		headers: headersOf(client, payload),
		signal: AbortSignal.timeout(client.timeoutMs),
	});
	outgoing.once("response", resolve).once("error", reject);
	outgoing.end(payload);
	return promise;
}

function headersOf({ token }: Client, payload: Buffer | undefined): http.OutgoingHttpHeaders {
	return {
		accept: "application/json",
		"user-agent": "svc-cli",
		...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
		...(payload === undefined ? {} : { "content-type": "application/json", "content-length": payload.length }),
	};
}

function queryText(query: Call["query"]): string {
	const text = new URLSearchParams(query).toString();
	return text === "" ? "" : `?${text}`;
}

async function readBody(response: http.IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of response as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > MAX_ANSWER_BYTES)
			throw new Failure("unreachable", "the answer is over 64 MiB", { code: "unexpected_answer" });
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

function parseAnswer(body: Buffer): Answer | undefined {
	try {
		const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
		return isAnswer(value) ? value : undefined;
	} catch {
		return undefined;
	}
}
