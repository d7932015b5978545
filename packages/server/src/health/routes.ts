import * as v from "valibot";
import { publicRoute, type Route } from "../http/route.ts";
import { checkHealth, type Health, type HealthNeeds } from "./health.ts";
import type { Metrics } from "./metrics.ts";

const State = v.picklist(["healthy", "unhealthy"]);

/** Spec: API › Health and metrics. */
export function healthRoutes(needs: HealthNeeds & { metrics: Metrics }): Route[] {
	return [
		publicRoute({
			method: "GET",
			path: "/api/v1/health",
			summary: "Whether the server can do its work: 503 when it cannot",
			status: 200,
			statusOf: (health) => ((health as Health).status === "healthy" ? 200 : 503),
			answer: v.object({
				status: State,
				version: v.string(),
				commit: v.string(),
				built: v.string(),
				mode: v.string(),
				checks: v.object({ database: State, encryption: State }),
			}),
			handle: () => checkHealth(needs),
		}),
		publicRoute({
			method: "GET",
			path: "/metrics",
			summary: "Metrics in the text exposition format",
			status: 200,
			answer: v.string(),
			async handle({ headers }) {
				headers["content-type"] = needs.metrics.contentType;
				return needs.metrics.render();
			},
		}),
	];
}
