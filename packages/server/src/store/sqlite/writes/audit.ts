import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent, Checkpoint } from "../../../audit/model.ts";
import { keySetWrites } from "./key-sets.ts";

/** Operations on the log itself, other than appending an operation's own event. */
export function auditWrites(db: Database, append: Append) {
	const checkpoint = db.prepare(
		"INSERT OR IGNORE INTO audit_checkpoint (seq, timestamp, hash, key_id, signature) VALUES (@seq, @timestamp, @hash, @key_id, @signature)",
	);
	return {
		record: (event: AuditEvent): void => append(event),
		addCheckpoint: (input: Checkpoint): void => void checkpoint.run(input),
		...keySetWrites(db, append),
	};
}
