import { eventHash } from "../audit/chain.ts";
import { type AuditEvent, type EventData, type StoredEvent, systemEvent } from "../audit/model.ts";
import { system } from "../system.ts";
import type { OnChange } from "./row-ledger.ts";
import { fingerprintOf, writeNamed } from "./row-names.ts";

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
	/** Notes a change of a row, for the next event to name. */
	note: OnChange;
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
