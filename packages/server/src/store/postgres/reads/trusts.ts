import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers questions about trusts. */
export function trustReads(db: Snapshot): Async<Implementations<"read">["trusts"]> {
	return {
		async byName(machine_id, name) {
			return (await db.verified("trust", "machine_id = $1 AND name = $2", [machine_id, name]))[0];
		},
		list: (machine_id, after, limit) =>
			db.verified("trust", "machine_id = $1 AND name > $2 ORDER BY name LIMIT $3", [machine_id, after, limit]),
		count: (machine_id) => db.count("trust", "machine_id = $1", [machine_id]),
	};
}
