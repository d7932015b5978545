import type { DeletedSecret } from "../../../secrets/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

type Reads = Pick<Async<Implementations<"scan">["secrets"]>, "deleted" | "countDeleted">;

const RESTORABLE = "realm_id = $1 AND ($2::text IS NULL OR environment = $2) AND deleted_at > $3";

/** Answers questions about secrets that were deleted and can be restored. */
export function deletedSecretReads(db: Snapshot): Reads {
	return {
		async deleted(realm_id, environment, since, after, limit) {
			const condition = `${RESTORABLE} AND id > $4 ORDER BY id LIMIT $5`;
			const found = await db.verified("deleted_secret", condition, [realm_id, environment, since, after, limit]);
			return found.map(({ created_at: _, ...deleted }): DeletedSecret => deleted);
		},
		countDeleted: async (realm_id, environment, since) =>
			(await db.verified("deleted_secret", RESTORABLE, [realm_id, environment, since])).length,
	};
}
