import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";

/** Operation on the report that a restore left. */
export function restoreWrites(db: Database, append: Append) {
	const forget = db.prepare("DELETE FROM meta WHERE name = 'restore_to_tell'");
	return {
		noteRestored(event: AuditEvent): boolean {
			if (forget.run().changes === 0) return false;
			append(event);
			return true;
		},
	};
}
