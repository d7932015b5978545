import * as v from "valibot";
import { publicRoute, type Route } from "./route.ts";

/** Declares the route that answers the document. The code that makes it is loaded at the first request. @param version of the server */
export function openApiRoute(others: readonly Route[], version: string): Route {
	let text: string | undefined;
	const self: Route = publicRoute({
		method: "GET",
		path: "/api/v1/openapi.json",
		summary: "This API's OpenAPI document",
		status: 200,
		answer: v.record(v.string(), v.unknown()),
		handle: async () => {
			const { openApiDocument } = await import("./openapi.ts");
			text ??= JSON.stringify(openApiDocument([...others, self], version));
			return text;
		},
	});
	return self;
}
