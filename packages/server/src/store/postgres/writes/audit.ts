import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { keySetWrites } from "./key-sets.ts";

type AuditWrites = Async<Implementations<"write">["audit"]>;

/** Makes the operations on the log itself, other than appending an operation's own event. */
export function auditWrites(db: Change): AuditWrites {
	return {
		record: async (event) => db.append(event),
		async addCheckpoint({ seq, timestamp, hash, key_id, signature }) {
			await db.sql.run(
				"INSERT INTO audit_checkpoint (seq, timestamp, hash, key_id, signature) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
				[seq, timestamp, hash, key_id, signature],
			);
		},
		...keySetWrites(db),
	};
}
