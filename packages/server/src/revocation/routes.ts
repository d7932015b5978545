import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Instant, Uuid } from "../messages.ts";
import { Revoke } from "./model.ts";
import { listMade, type RevocationNeeds, revokeAccess } from "./revocation.ts";

const Life = { created_at: Instant, expires_at: Instant };

/** Design: §6, §15. */
export function revocationRoutes(needs: RevocationNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/revoke",
			summary: "End the sessions, API tokens, leases and late links of a user, or the API tokens and leases of a realm",
			body: Revoke,
			status: 200,
			answer: v.object({
				...{ sessions: Count, tokens: Count, leases: Count, identities: Count },
				...{ machines: v.optional(Count), machine_tokens: v.optional(Count), invitations: v.optional(Count) },
			}),
			errors: ["not_found"],
			handle: ({ actor, body: { user_id, realm, ...how } }) =>
				revokeAccess(needs, actor, { user_id: user_id ?? undefined, realm: realm ?? undefined, ...how }),
		}),
		route({
			method: "GET",
			path: "/api/v1/users/{id}/made",
			summary: "Machines, their tokens and invitations that an account made in the last 30 days, at most 100 of each",
			status: 200,
			answer: v.object({
				machines: v.array(v.object({ realm: v.string(), name: v.string(), role: v.string(), created_at: Instant })),
				machine_tokens: v.array(v.object({ id: Uuid, machine: v.string(), prefix: v.string(), ...Life })),
				invitations: v.array(v.object({ id: Uuid, email: v.string(), ...Life })),
			}),
			errors: ["not_found"],
			handle: ({ actor, params }) => listMade(needs, actor, params.id),
		}),
	];
}
