import type { StoredEvent } from "../../audit/model.ts";

/** Fields of the data that events are found by. They are columns in addition to what was hashed, because PostgreSQL reads no JSON that holds U+0000. */
export const INDEXED_FIELDS = ["key", "key_set", "token_id", "environment"] as const;

/** An event with its indexed fields. */
export type IndexedEvent = StoredEvent & Record<(typeof INDEXED_FIELDS)[number], string | null>;

/** Reads the indexed fields from the data of an event; null where it has none. */
export function indexedFieldsOf(data: string): (string | null)[] {
	const fields = JSON.parse(data) as Readonly<Record<string, unknown>>;
	return INDEXED_FIELDS.map((name) => {
		const field = fields[name];
		return typeof field === "string" ? field.replaceAll("\0", "\ufffd") : null;
	});
}

/** Tells whether the indexed columns of an event match its data. */
export function matchesIndex(event: IndexedEvent): boolean {
	try {
		const fields = indexedFieldsOf(event.data);
		return INDEXED_FIELDS.every((name, index) => event[name] === fields[index]);
	} catch {
		// Another program wrote it: what is hashed is JSON.
		return false;
	}
}
