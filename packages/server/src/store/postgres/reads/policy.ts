import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers questions about bindings. */
export function policyReads(db: Snapshot): Async<Implementations<"read">["policy"]> {
	return {
		list: (realm_id, after, limit) =>
			db.verified("binding", "realm_id = $1 AND id > $2 ORDER BY id LIMIT $3", [realm_id, after, limit]),
		count: (realm_id) => db.count("binding", "realm_id = $1", [realm_id]),
	};
}
