import https from "node:https";
import { json } from "node:stream/consumers";

/** An answer of an API server. */
export interface ApiAnswer {
	readonly status: number;
	/** Empty when the answer had no body, or no JSON. */
	readonly body: Record<string, unknown>;
}

/** A test's client of an API server. */
export interface KubernetesApi {
	/**
	 * Sends one request, as the administrator unless a token is given.
	 * @param body a text is sent as YAML, anything else as JSON
	 * @throws Error when no answer comes within 10 s
	 */
	request(method: string, path: string, body?: object | string, token?: string, accept?: string): Promise<ApiAnswer>;
	/** Closes its connections. */
	close(): void;
}

const TIMEOUT_MS = 120_000;

/** Makes a client of an API server. @param ca PEM */
export function apiClient(url: string, ca: string, adminToken: string): KubernetesApi {
	const agent = new https.Agent({ ca, keepAlive: true });
	return {
		async request(method, path, body, token = adminToken, accept = "application/json") {
			const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
			const isYaml = typeof body === "string";
			const payload = isYaml ? body : body === undefined ? "" : JSON.stringify(body);
			const request = https.request(url + path, {
				agent,
				method,
				signal: AbortSignal.timeout(TIMEOUT_MS),
				headers: {
					authorization: `Bearer ${token}`,
					accept,
					"content-type": isYaml ? "application/yaml" : "application/json",
					// Node would omit it from a DELETE, and the server would read the body as the next request.
					"content-length": Buffer.byteLength(payload),
				},
			});
			request.once("error", reject).once("response", (response) => {
				const answer = (parsed: unknown) =>
					resolve({ status: response.statusCode ?? 0, body: parsed as ApiAnswer["body"] });
				json(response).then(answer, () => answer({}));
			});
			request.end(payload);
			return promise;
		},
		close: () => agent.destroy(),
	};
}
