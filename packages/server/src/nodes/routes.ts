import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Instant } from "../messages.ts";
import { listNodes, type NodeNeeds } from "./nodes.ts";

const NodeSchema = v.object({
	id: v.string(),
	name: v.string(),
	version: v.string(),
	address: v.string(),
	started_at: Instant,
	master_key: v.string(),
	next_master_key: v.string(),
	seen_at: Instant,
	status: v.picklist(["active", "silent"]),
});

/** Design: §14. */
export function nodeRoutes(needs: NodeNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/nodes",
			summary: "The servers that use the same database, and when each was last seen",
			status: 200,
			answer: v.object({ nodes: v.array(NodeSchema) }),
			errors: [],
			handle: async ({ actor }) => ({ nodes: await listNodes(needs, actor) }),
		}),
	];
}
