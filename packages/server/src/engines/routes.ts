import * as v from "valibot";
import { type Route, route } from "../http/route.ts";

/** Spec: API › Engines. No engine is there yet. */
export function engineRoutes(): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/engines",
			summary: "The engines",
			status: 200,
			answer: v.object({
				engines: v.array(v.object({ type: v.string(), description: v.string(), capabilities: v.array(v.string()) })),
			}),
			handle: async () => ({ engines: [] }),
		}),
	];
}
