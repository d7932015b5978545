import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers questions about providers and their people. */
export function ssoReads(db: Snapshot): Async<Implementations<"read">["sso"]> {
	return {
		providers: () => db.verified("sso_provider", "true ORDER BY name"),
		async provider(name) {
			return (await db.verified("sso_provider", "name = $1", [name]))[0];
		},
		async owner({ provider, issuer, subject }) {
			const key = "provider = $1 AND issuer = $2 AND subject = $3";
			return (await db.verified("sso_identity", key, [provider, issuer, subject]))[0]?.user_id;
		},
		async identitiesOf(user_id) {
			const found = await db.verified("sso_identity", "user_id = $1 ORDER BY created_at, id", [user_id]);
			return found.map(({ user_id: _, ...identity }) => identity);
		},
	};
}
