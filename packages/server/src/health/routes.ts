import * as v from "valibot";
import { publicRoute, type Route } from "../http/route.ts";
import { Count, errorMessage, Instant } from "../messages.ts";
import { checkHealth, checkReadiness, type Health, type HealthNeeds } from "./health.ts";
import type { Metrics } from "./metrics.ts";
import { STORE_REASONS } from "./model.ts";

const State = v.picklist(["healthy", "unhealthy"]);

const Details = v.object({
	engines: v.array(
		v.object({
			type: v.string(),
			status: State,
			processes: Count,
			breaker: v.picklist(["closed", "open"]),
			refused_realms: Count,
			message: v.string(),
		}),
	),
	targets: v.array(
		v.object({ target: v.string(), status: v.picklist(["healthy", "away", "blocked"]), since: Instant }),
	),
	leases: v.object({
		open: v.record(v.string(), Count),
		overdue: Count,
		stuck: Count,
		oldest_overdue_seconds: Count,
		paused: v.boolean(),
	}),
	clock: v.picklist(["steady", "jumped"]),
});

/** Spec: API › Health and metrics. */
export function healthRoutes(needs: HealthNeeds & { metrics: Metrics }): Route[] {
	return [
		publicRoute({
			method: "GET",
			path: "/api/v1/health",
			trustsNothing: true,
			summary: "Health of the server: 503 when it cannot work; ready=true only asks whether it takes requests",
			query: v.object({
				ready: v.optional(
					v.picklist(["true", "false"], errorMessage("validation_failed", "ready must be true or false")),
				),
			}),
			status: 200,
			other: { status: 503, when: (health) => (health as Health).status !== "healthy" },
			answer: v.object({
				status: State,
				version: v.string(),
				commit: v.string(),
				built: v.string(),
				mode: v.string(),
				checks: v.object({ database: State, encryption: State }),
				store: v.object({
					type: v.picklist(["sqlite", "postgresql"]),
					status: v.picklist(["healthy", "slow", "failing", "away"]),
					reason: v.optional(v.picklist(STORE_REASONS)),
					since: v.optional(Instant),
					message: v.optional(v.string()),
					hint: v.optional(v.string()),
				}),
				details: v.optional(Details),
			}),
			handle: ({ query }) => (query.ready === "true" ? checkReadiness(needs) : checkHealth(needs)),
		}),
		publicRoute({
			method: "GET",
			path: "/metrics",
			needsNoStore: true,
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
