import { hash } from "node:crypto";
import { system } from "../system.ts";
import { type AuditEvent, type EventData, type StoredEvent, systemEvent } from "./model.ts";

/** Hash before the first event. */
export const GENESIS = Buffer.alloc(32);

const LABEL = "svc-audit-v1";

/**
 * Hashes an event: SHA-256 over the label, the sequence number, the previous hash and every field, each text preceded by its length in
 * bytes, so that no two different events have the same input.
 * @returns 32 bytes
 */
export function eventHash(previous: Buffer, event: Omit<StoredEvent, "hash">): Buffer {
	const fields = [event.timestamp, event.type, event.actor, event.realm_id, event.realm, event.data];
	let text = `${LABEL}\n${event.seq}\n${previous.toString("hex")}\n`;
	for (const field of fields) text += `${Buffer.byteLength(field)}:${field}`;
	return hash("sha256", text, "buffer");
}

/** An event's id: the first 122 bits of its hash as a UUID of version 8. It derives from the content, so it need not be stored. */
export function eventId(eventHash: Buffer): string {
	const hex = eventHash.toString("hex", 0, 16);
	const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Writes the text that a checkpoint signs. */
export function checkpointText(checkpoint: { seq: number; hash: Buffer; timestamp: string }): Buffer {
	return Buffer.from(
		`svc-audit-checkpoint-v1\n${checkpoint.seq}\n${checkpoint.hash.toString("hex")}\n${checkpoint.timestamp}\n`,
	);
}

/** Maximum number of rows named in one event; the others are in events of their own before it. */
const ROWS_AN_EVENT = 100;

/** An event with its facts as JSON text, before it joins the chain. */
export type EventText = Omit<StoredEvent, "seq" | "hash">;

/** End of a chain. */
export type ChainEnd = Pick<StoredEvent, "seq" | "hash">;

/** Adds an event to the chain inside the running transaction, with facts that only the transaction knows, and the names of the rows that it changed. */
export type Append = (event: AuditEvent, known?: EventData) => void;

/** The end of the chain as the running transaction sees it. */
export interface Chain {
	append: Append;
	/** Notes a change of a row, for the next event to name. @param written the row as events name it */
	note(name: string, written: string): void;
	/** Names rows that were changed after an operation's event, or without one. */
	finish(): void;
	/** Adds an event whose facts are text already. */
	add(event: EventText): void;
	tip(): ChainEnd;
	/** Returns to an earlier end, after a rollback. */
	rewind(tip: ChainEnd): void;
}

/** Continues a chain. @param write stores an event in the running transaction */
export function createChain(start: ChainEnd, write: (event: StoredEvent) => void): Chain {
	let tip = start;
	const add = ({ timestamp, type, actor, realm_id, realm, data }: EventText) => {
		const seq = tip.seq + 1;
		const event = { seq, timestamp, type, actor, realm_id, realm, data };
		const hash = eventHash(tip.hash, event);
		write({ ...event, hash });
		tip = { seq, hash };
	};
	const changed = new Map<string, string>();
	/** Adds events for all but the last of the rows, and returns these. */
	const named = (event: AuditEvent): string | undefined => {
		if (changed.size === 0) return undefined;
		const rows = [...changed.values()];
		changed.clear();
		let at = 0;
		for (; rows.length - at > ROWS_AN_EVENT; at += ROWS_AN_EVENT) {
			const data = JSON.stringify({ of: event.type, rows: rows.slice(at, at + ROWS_AN_EVENT).join(" ") });
			add({ ...event, type: "rows.changed", data });
		}
		return rows.slice(at).join(" ");
	};
	const append: Append = (event, known) => {
		const rows = named(event);
		add({ ...event, data: JSON.stringify({ ...event.data, ...known, ...(rows !== undefined && { rows }) }) });
	};
	return {
		add,
		append,
		note: (name, written) => void changed.set(name, written),
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
