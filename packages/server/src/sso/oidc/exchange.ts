import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type Agent, request } from "node:https";
import type { CustomFetchOptions } from "openid-client";
import { ProviderUnavailable } from "../model.ts";
import { checkJwtSize, idTokenOf } from "./jwt-size.ts";

/** Seconds from the first packet of a request to the last byte of its answer. Design: §11 */
export const TIMEOUT_S = 5;

/** Bytes of an answer. Design: §11 */
const MAX_ANSWER_BYTES = 1_048_576;

/** Commas and opening brackets of an answer, which bound its members, elements and depth: to parse 110,000 names blocked everybody for 0.2 s. */
const MAX_MARKS = 20_000;
const MARKS = [",", "[", "{"];

/** Requests to a provider, and the statuses that may answer them: a refused code is an answer too. */
export const DISCOVERY = { name: "the provider's discovery document", statuses: [200] } as const;
export const KEYS = { name: "the provider's keys", statuses: [200] } as const;
export const TOKEN = { name: "the provider's answer to the code", statuses: [200, 400, 401] } as const;
export const USERINFO = { name: "the provider's userinfo", statuses: [200] } as const;

export type Question = typeof DISCOVERY | typeof KEYS | typeof TOKEN | typeof USERINFO;

type Options = Pick<CustomFetchOptions, "method" | "headers" | "body" | "signal">;

/**
 * Sends one request and reads the answer to its end. No redirect, keep-alive, decompression or retry.
 * @param options its signal limits the time
 * @throws ProviderUnavailable for an answer that is late, too large, too wide, of another status, or none
 */
export async function exchange(agent: Agent, question: Question, address: string, options: Options): Promise<Response> {
	const { method, headers, body, signal } = options;
	try {
		const outgoing = request(address, { agent, method, headers, ...(signal && { signal }) });
		// An answer with a broken or late body fails a second time, after its first line was read: without a listener that would crash.
		outgoing.on("error", () => undefined);
		outgoing.end(body?.toString());
		const [incoming]: IncomingMessage[] = await once(outgoing, "response");
		return await readAnswer(question, incoming as IncomingMessage);
	} catch (error) {
		throw explain(question, error, signal?.aborted === true);
	}
}

async function readAnswer(question: Question, incoming: IncomingMessage): Promise<Response> {
	const { statusCode: status = 0, headers } = incoming;
	if (!(question.statuses as readonly number[]).includes(status)) {
		incoming.destroy();
		throw new ProviderUnavailable(`${question.name} could not be fetched (status ${status})`);
	}
	const chunks: Buffer[] = [];
	let size = 0;
	for await (const chunk of incoming) {
		size += chunk.length;
		if (size > MAX_ANSWER_BYTES) throw new ProviderUnavailable(`${question.name} is larger than 1 MiB`);
		chunks.push(chunk);
	}
	const body = Buffer.concat(chunks);
	if (hasTooManyMarks(body)) {
		throw new ProviderUnavailable(`${question.name} has more than ${MAX_MARKS} commas and brackets`);
	}
	const type = headers["content-type"] ?? "";
	const id_token = question === TOKEN ? idTokenOf(body) : undefined;
	if (id_token !== undefined) checkJwtSize("the provider's id_token", id_token);
	if (/^application\/jwt\b/i.test(type)) checkJwtSize(question.name, body.toString("latin1"));
	return new Response(body, { status, headers: { "content-type": type } });
}

function hasTooManyMarks(body: Buffer): boolean {
	let marks = 0;
	for (const mark of MARKS) {
		for (let at = body.indexOf(mark); at !== -1 && marks <= MAX_MARKS; at = body.indexOf(mark, at + 1)) marks++;
	}
	return marks > MAX_MARKS;
}

/** Names only the error's code: messages of the system contain addresses. */
function explain({ name }: Question, error: unknown, is_late: boolean): ProviderUnavailable {
	if (error instanceof ProviderUnavailable) return error;
	if (is_late) return new ProviderUnavailable(`${name} did not arrive within ${TIMEOUT_S} s`);
	const code = error instanceof Error && "code" in error ? String(error.code) : "connection lost";
	return new ProviderUnavailable(`${name} could not be fetched (${code})`);
}
