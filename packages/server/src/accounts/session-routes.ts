import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Instant, Uuid } from "../messages.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { endSession, listSessions, type OwnSessionNeeds } from "./sessions.ts";

const SessionSchema = v.object({
	id: Uuid,
	created_at: Instant,
	expires_at: Instant,
	provider: v.string(),
	current: v.boolean(),
	last_used_at: v.nullable(Instant),
	last_ip: v.nullable(v.string()),
	last_agent: v.nullable(v.string()),
});

/** Makes the routes of the caller's own sessions. Design: §7.1 */
export function ownSessionRoutes(needs: OwnSessionNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/auth/sessions",
			summary:
				"The caller's open sessions; provider is empty where it began with a password, and the last use is null where it is not known",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ sessions: v.array(SessionSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "unsupported_operation"],
			async handle({ actor, query }) {
				const { rows, pagination } = await listSessions(needs, actor, query);
				const sessions = rows.map(({ jti, created_at, expires_at, provider, current, used }) => {
					const last = { last_used_at: used?.at ?? null, last_ip: used?.ip ?? null, last_agent: used?.agent ?? null };
					return { id: jti, created_at, expires_at, provider, current, ...last };
				});
				return { sessions, pagination };
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/auth/sessions/{id}",
			summary: "End one of the caller's sessions",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found", "unsupported_operation"],
			async handle({ actor, params }) {
				await endSession(needs, actor, params.id);
				return { message: "session ended" };
			},
		}),
	];
}
