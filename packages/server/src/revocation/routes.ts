import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count } from "../messages.ts";
import { Revoke } from "./model.ts";
import { type RevocationNeeds, revokeAccess } from "./revocation.ts";

/** Design: §6. */
export function revocationRoutes(needs: RevocationNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/revoke",
			summary: "End the sessions, API tokens, leases and late links of a user, or the API tokens and leases of a realm",
			body: Revoke,
			status: 200,
			answer: v.object({ sessions: Count, tokens: Count, leases: Count, identities: Count }),
			errors: ["not_found"],
			handle: ({ actor, body: { user_id, realm, keep_links } }) =>
				revokeAccess(needs, actor, { user_id: user_id ?? undefined, realm: realm ?? undefined, keep_links }),
		}),
	];
}
