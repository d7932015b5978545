import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Instant, Uuid } from "../messages.ts";
import { IdentitySchema, shownIdentity } from "../sso/model.ts";
import { Revoke } from "./model.ts";
import { listMade, type RevocationNeeds, revokeAccess } from "./revocation.ts";

const Life = { created_at: Instant, expires_at: Instant };
const TrustSchema = v.object({
	...{ id: Uuid, machine: v.string(), name: v.string() },
	...{ type: v.string(), created_at: Instant },
});

/** Design: §6, §15. */
export function revocationRoutes(needs: RevocationNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/revoke",
			summary:
				"End the sessions, API tokens, leases and recent links of a user, or the API tokens and leases of a realm",
			body: Revoke,
			status: 200,
			answer: v.object({
				...{ sessions: Count, tokens: Count, leases: Count, identities: Count },
				...{ machines: v.optional(Count), machine_tokens: v.optional(Count) },
				...{ trusts: v.optional(Count), invitations: v.optional(Count) },
			}),
			errors: ["not_found"],
			handle: ({ actor, body: { user_id, realm, ...how } }) =>
				revokeAccess(needs, actor, { user_id: user_id ?? undefined, realm: realm ?? undefined, ...how }),
		}),
		route({
			method: "GET",
			path: "/api/v1/users/{id}/made",
			summary:
				"What an account made in the last 30 days: machines, their tokens and trusts, invitations; and identities linked with it",
			status: 200,
			answer: v.object({
				machines: v.array(v.object({ realm: v.string(), name: v.string(), role: v.string(), created_at: Instant })),
				machine_tokens: v.array(v.object({ id: Uuid, machine: v.string(), prefix: v.string(), ...Life })),
				trusts: v.array(TrustSchema),
				invitations: v.array(v.object({ id: Uuid, email: v.string(), ...Life })),
				identities: v.array(IdentitySchema),
			}),
			errors: ["not_found"],
			async handle({ actor, params }) {
				const { identities, ...made } = await listMade(needs, actor, params.id);
				return { ...made, identities: identities.map(shownIdentity) };
			},
		}),
	];
}
