import type { Answer, Api, RequestOptions } from "../harness/client.ts";

const PREFIX = "/api/v1";
const ANSWER_TIMEOUT_MS = 120_000;

/**
 * The client of a server that speaks plain HTTP; keeps its connections. Unlike the client for HTTPS it accepts every answer,
 * because an injected fault may well end in a 500.
 */
export function plainApi(url: string): Api {
	const send = async <T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> => {
		const { token, raw } = options;
		const response = await fetch(`${url}${path}`, {
			method,
			signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
			headers: {
				...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
				...(raw === undefined ? {} : { "content-type": "application/json" }),
				...options.headers,
			},
			...(raw === undefined ? {} : { body: String(raw) }),
		});
		const text = await response.text();
		const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
		const body = (isJson ? JSON.parse(text) : undefined) as T;
		return { status: response.status, headers: Object.fromEntries(response.headers), text, body };
	};
	return {
		send,
		get: (path, options) => send("GET", `${PREFIX}${path}`, options),
		post: (path, body, options) => send("POST", `${PREFIX}${path}`, { raw: JSON.stringify(body ?? {}), ...options }),
		put: (path, body, options) => send("PUT", `${PREFIX}${path}`, { raw: JSON.stringify(body ?? {}), ...options }),
		delete: (path, options) => send("DELETE", `${PREFIX}${path}`, options),
	};
}
