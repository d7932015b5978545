import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";

/** Makes the operation on the report that a restore left. */
export function restoreWrites(db: Change): Async<Implementations<"write">["backups"]> {
	return {
		async noteRestored(event) {
			if ((await db.remove("meta", "name = 'restore_to_tell'")) === 0) return false;
			db.append(event);
			return true;
		},
	};
}
