import * as v from "valibot";
import { publicRoute, type Route, route } from "../http/route.ts";
import { Count, Instant } from "../messages.ts";
import { ResetPassword } from "./model.ts";
import { createReset, dropFactors, type ResetNeeds, resetPassword } from "./resets.ts";

/** Design: §15. */
export function resetRoutes(needs: ResetNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/users/{id}/reset",
			summary: "Make a code, shown once and valid for 24 hours, with which somebody sets a new password of the account",
			status: 201,
			answer: v.object({ code: v.string(), expires_at: Instant }),
			errors: ["not_found", "conflict", "unsupported_operation"],
			handle: ({ actor, params }) => createReset(needs, actor, params.id),
		}),
		route({
			method: "DELETE",
			path: "/api/v1/users/{id}/factors",
			summary: "End the second factors, recovery codes and sessions of somebody who lost the factors",
			status: 200,
			answer: v.object({ factors_dropped: Count, sessions_ended: Count }),
			errors: ["not_found", "conflict", "unsupported_operation"],
			handle: ({ actor, params }) => dropFactors(needs, actor, params.id),
		}),
		publicRoute({
			method: "POST",
			path: "/api/v1/auth/reset",
			summary: "Set a new password with a reset code, and end all sessions of the account",
			body: ResetPassword,
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["password_too_short", "invalid_credentials", "rate_limited"],
			async handle({ body, request_id, ip }) {
				await resetPassword(needs, { request_id, ip }, body);
				return { message: "password changed" };
			},
		}),
	];
}
