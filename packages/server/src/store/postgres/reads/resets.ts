import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers questions about reset codes. */
export function resetReads(db: Snapshot): Async<Implementations<"read">["resets"]> {
	return {
		async ofUser(user_id, now) {
			return (await db.verified("reset_code", "user_id = $1 AND expires_at > $2", [user_id, now]))[0];
		},
	};
}
