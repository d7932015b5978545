import https from "node:https";
import { json } from "node:stream/consumers";

/** An answer of an API server. */
export interface ApiAnswer {
	readonly status: number;
	/** Empty when there was none, or no JSON. */
	readonly body: Record<string, unknown>;
}

/** A client that a test asks with. */
export interface KubernetesApi {
	/**
	 * Sends one request, as the administrator unless a token is given.
	 * @param body a text is sent as YAML, anything else as JSON
	 * @throws Error when there is no answer within 10 s
	 */
	request(method: string, path: string, body?: object | string, token?: string): Promise<ApiAnswer>;
	/** Ends its connections. */
	close(): void;
}

const TIMEOUT_MS = 120_000;

/** A client of an API server. @param ca PEM */
export function apiClient(url: string, ca: string, adminToken: string): KubernetesApi {
	const agent = new https.Agent({ ca, keepAlive: true });
	return {
		async request(method, path, body, token = adminToken) {
			const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
			const isYaml = typeof body === "string";
			const payload = isYaml ? body : body === undefined ? "" : JSON.stringify(body);
			const request = https.request(url + path, {
				agent,
				method,
				signal: AbortSignal.timeout(TIMEOUT_MS),
				headers: {
					authorization: `Bearer ${token}`,
					accept: "application/json",
					"content-type": isYaml ? "application/yaml" : "application/json",
					// Node would leave it out of a DELETE, and the server would take the body for the next request.
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
