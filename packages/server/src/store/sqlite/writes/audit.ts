import type { Database } from "better-sqlite3";
import { eventHash, GENESIS } from "../../../audit/chain.ts";
import type { AuditEvent, Checkpoint, EventData } from "../../../audit/model.ts";
import type { EventText } from "../event-line.ts";

/** Adds an event to the chain inside the running transaction, with facts that only the transaction knows. */
export type Append = (event: AuditEvent, known?: EventData) => void;

/** The end of the chain as the running transaction sees it. */
export interface Chain {
	append: Append;
	/** Adds an event whose facts are text already. */
	add(event: EventText): void;
	tip(): { seq: number; hash: Buffer };
	/** Returns to an earlier end, after a rollback. */
	rewind(tip: { seq: number; hash: Buffer }): void;
}

/** Opens the chain at the newest event. */
export function openChain(db: Database): Chain {
	const newest = db.prepare("SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1");
	const insert = db.prepare(
		"INSERT INTO audit_event (seq, timestamp, type, actor, realm_id, realm, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	);
	let tip = (newest.get() as { seq: number; hash: Buffer } | undefined) ?? { seq: 0, hash: GENESIS };
	const add = ({ timestamp, type, actor, realm_id, realm, data }: EventText) => {
		const seq = tip.seq + 1;
		const hash = eventHash(tip.hash, { seq, timestamp, type, actor, realm_id, realm, data });
		insert.run(seq, timestamp, type, actor, realm_id, realm, data, hash);
		tip = { seq, hash };
	};
	return {
		add,
		append: (event, known) => add({ ...event, data: JSON.stringify({ ...event.data, ...known }) }),
		tip: () => tip,
		rewind(to) {
			tip = to;
		},
	};
}

/** Operations on the log itself, other than appending an operation's own event. */
export function auditWrites(db: Database, append: Append) {
	const checkpoint = db.prepare(
		"INSERT OR IGNORE INTO audit_checkpoint (seq, timestamp, hash, key_id, signature) VALUES (@seq, @timestamp, @hash, @key_id, @signature)",
	);
	return {
		record: (event: AuditEvent): void => append(event),
		addCheckpoint: (input: Checkpoint): void => void checkpoint.run(input),
	};
}
