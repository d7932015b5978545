import type { Endpoint } from "../spec/endpoints.ts";
import type { PreparedRequest } from "./requests.ts";

/** Returns the request with its environment named, if it can name one. */
export function named({ named, usual: environment }: Endpoint, { path, body }: PreparedRequest): PreparedRequest {
	if (named === undefined) return { path, ...(body && { body }) };
	if (named === "body") return { path, body: { ...body, environment } };
	return { path: `${path}${path.includes("?") ? "&" : "?"}env=${environment}`, ...(body && { body }) };
}
