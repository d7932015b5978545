import type { Database } from "better-sqlite3";
import { GENESIS } from "../../../audit/chain.ts";
import type { AuditEvent, Checkpoint } from "../../../audit/model.ts";
import { type Append, type Chain, type ChainEnd, createChain } from "../../chain.ts";
import { keySetWrites } from "./key-sets.ts";

/** Opens the chain at the newest event. */
export function openChain(db: Database): Chain {
	const newest = db.prepare("SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1");
	const insert = db.prepare(
		"INSERT INTO audit_event (seq, timestamp, type, actor, realm_id, realm, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	);
	const end = (newest.get() as ChainEnd | undefined) ?? { seq: 0, hash: GENESIS };
	return createChain(end, ({ seq, timestamp, type, actor, realm_id, realm, data, hash }) => {
		insert.run(seq, timestamp, type, actor, realm_id, realm, data, hash);
	});
}

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
