import type { Database } from "better-sqlite3";
import { eventHash, GENESIS } from "../../../audit/chain.ts";
import { type AuditEvent, type Checkpoint, type EventData, systemEvent } from "../../../audit/model.ts";
import { system } from "../../../system.ts";
import { fingerprintOf, writeNamed } from "../../row-names.ts";
import type { EventText } from "../event-line.ts";
import type { OnChange } from "../row-guard.ts";
import { keySetWrites } from "./key-sets.ts";

/** Maximum number of rows named in one event; the others are in events of their own before it. */
const ROWS_AN_EVENT = 100;

/** Adds an event to the chain inside the running transaction, with facts that only the transaction knows, and the names of the rows that it changed. */
export type Append = (event: AuditEvent, known?: EventData) => void;

/** The end of the chain as the running transaction sees it. */
export interface Chain {
	append: Append;
	/** Notes a change of a row, for the next event to name. */
	note: OnChange;
	/** Names rows that were changed after an operation's event, or without one. */
	finish(): void;
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
	const changed = new Map<string, string | undefined>();
	/** Adds events for all but the last of the rows, and returns these. */
	const named = (event: AuditEvent): string | undefined => {
		if (changed.size === 0) return undefined;
		const rows = [...changed].map(([name, fingerprint]) => writeNamed({ name, fingerprint }));
		changed.clear();
		for (; rows.length > ROWS_AN_EVENT; rows.splice(0, ROWS_AN_EVENT)) {
			const data = JSON.stringify({ of: event.type, rows: rows.slice(0, ROWS_AN_EVENT).join(" ") });
			add({ ...event, type: "rows.changed", data });
		}
		return rows.join(" ");
	};
	const append: Append = (event, known) => {
		const rows = named(event);
		add({ ...event, data: JSON.stringify({ ...event.data, ...known, ...(rows !== undefined && { rows }) }) });
	};
	return {
		add,
		append,
		note: (name, mac) => void changed.set(name, mac && fingerprintOf(mac)),
		finish() {
			if (changed.size > 0) append(systemEvent(system.now(), "rows.changed", undefined, {}));
		},
		tip: () => tip,
		rewind(to) {
			tip = to;
			changed.clear();
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
		...keySetWrites(db, append),
	};
}
