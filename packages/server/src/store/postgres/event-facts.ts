import type { StoredEvent } from "../../audit/model.ts";

/** Facts that events are found by. They stand beside what was hashed, because PostgreSQL reads no JSON that holds U+0000. */
export const FACTS = ["key", "key_set", "token_id", "environment"] as const;

/** An event with the facts that it is found by. */
export type FoundEvent = StoredEvent & Record<(typeof FACTS)[number], string | null>;

/** Reads the facts that an event is found by from its data; null where it has none. */
export function factsOf(data: string): (string | null)[] {
	const facts = JSON.parse(data) as Readonly<Record<string, unknown>>;
	return FACTS.map((name) => {
		const fact = facts[name];
		return typeof fact === "string" ? fact.replaceAll("\0", "\ufffd") : null;
	});
}

/** Tells whether an event is found by what its data say. */
export function isFoundRight(event: FoundEvent): boolean {
	try {
		const facts = factsOf(event.data);
		return FACTS.every((name, index) => event[name] === facts[index]);
	} catch {
		// Another program wrote it: what is hashed is JSON.
		return false;
	}
}
