import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Instant, Uuid } from "../messages.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import {
	endSession,
	endSessionOf,
	listSessions,
	listSessionsOf,
	type OwnSessionNeeds,
	type SessionNeedsOfAdmins,
	type UsedSession,
} from "./sessions.ts";

const SessionSchema = v.object({
	id: Uuid,
	created_at: Instant,
	expires_at: Instant,
	provider: v.string(),
	last_used_at: v.nullable(Instant),
	last_ip: v.nullable(v.string()),
	last_agent: v.nullable(v.string()),
});

const OwnSessionSchema = v.object({ ...SessionSchema.entries, current: v.boolean() });

/** Design: §7.1. */
function shown({ jti, created_at, expires_at, provider, used }: UsedSession) {
	const last = { last_used_at: used?.at ?? null, last_ip: used?.ip ?? null, last_agent: used?.agent ?? null };
	return { id: jti, created_at, expires_at, provider, ...last };
}

/** Makes the routes of somebody else's sessions. Design: §7.1 */
export function sessionsOfRoutes(needs: SessionNeedsOfAdmins): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/users/{id}/sessions",
			summary: "Somebody's open sessions, and their last use where it is known",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ sessions: v.array(SessionSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "not_found"],
			async handle({ actor, params, query }) {
				const { rows, pagination } = await listSessionsOf(needs, actor, params.id, query);
				return { sessions: rows.map(shown), pagination };
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/users/{id}/sessions/{session}",
			summary: "End one of somebody's sessions",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await endSessionOf(needs, actor, params.id, params.session);
				return { message: "session ended" };
			},
		}),
	];
}

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
			answer: v.object({ sessions: v.array(OwnSessionSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor", "unsupported_operation"],
			async handle({ actor, query }) {
				const { rows, pagination } = await listSessions(needs, actor, query);
				const sessions = rows.map((session) => ({ ...shown(session), current: session.current }));
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
