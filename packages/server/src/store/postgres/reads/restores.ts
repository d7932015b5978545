import type { Restore } from "../../../backups/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers the questions about the last restore. */
export function restoreReads(db: Snapshot): Async<Implementations<"read">["backups"]> {
	return {
		async restored() {
			const [stored] = await db.verified("meta", "name = 'restore_to_tell'");
			return stored && (JSON.parse(stored.value) as Restore);
		},
		era: async () => (await db.verified("meta", "name = 'era'"))[0]?.value ?? "",
	};
}
