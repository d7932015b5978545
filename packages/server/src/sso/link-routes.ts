import * as v from "valibot";
import { CurrentPassword, FactorCode } from "../accounts/model.ts";
import { type Route, route } from "../http/route.ts";
import { type LinkNeeds, listIdentities, unlinkIdentity } from "./links.ts";
import { IdentitySchema, shownIdentity } from "./model.ts";

/** Error codes of a request for the owner's proof. */
export const OWNER_ERRORS = ["unsupported_operation", "wrong_password", "rate_limited"] as const;

/** Design: §13. */
export function linkRoutes(needs: LinkNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/auth/identities",
			summary: "The identities that sign in to the caller's account, and whether it has a password",
			status: 200,
			answer: v.object({ identities: v.array(IdentitySchema), has_password: v.boolean() }),
			errors: ["unsupported_operation"],
			async handle({ actor }) {
				const { identities, has_password } = await listIdentities(needs, actor);
				return { identities: identities.map(shownIdentity), has_password };
			},
		}),
		route({
			method: "DELETE",
			path: "/api/v1/auth/identities/{id}",
			summary: "Unlink an identity from the caller's account; the last way to sign in cannot be removed",
			body: v.object({ current_password: v.nullish(CurrentPassword), code: v.nullish(FactorCode) }),
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found", "conflict", ...OWNER_ERRORS, "wrong_code"],
			async handle({ actor, params, body }) {
				await unlinkIdentity(needs, actor, params.id, body);
				return { message: "identity unlinked" };
			},
		}),
	];
}
