import type { EventQuery } from "../audit/event-query.ts";
import type { StoredEvent } from "../audit/model.ts";
import type { Store } from "../store/store.ts";

const EVERYTHING: EventQuery = { scopes: [{}], realm: undefined, type: undefined, actors: undefined };

/** Counts the events of the log. */
export async function countEvents({ audit }: Pick<Store, "audit">): Promise<number> {
	return (await audit.head()).events;
}

/**
 * Lists, without the rows that they name, events that the log did not have yet when it had `start` of them, oldest first, as type and facts.
 * @param realm_ids realms whose events to include
 */
export async function eventsAfter(
	store: Store,
	start: number,
	realm_ids: string[] = [],
): Promise<[type: string, data: Record<string, unknown>][]> {
	const events = await store.audit.list(EVERYTHING, undefined, (await countEvents(store)) - start);
	return events
		.filter(({ type }) => type !== "rows.changed")
		.filter(({ realm_id, type }) => ["", ...realm_ids].includes(realm_id) || type === "realm.deleted")
		.map((event): [string, Record<string, unknown>] => [event.type, factsOf(event)])
		.reverse();
}

/** Reads an event's facts, without the rows that it names. */
export function factsOf({ data }: Pick<StoredEvent, "data">): Record<string, unknown> {
	const { rows: _, ...facts } = JSON.parse(data);
	return facts;
}

/** Tells whether the whole log is as it was written. */
export async function isChainIntact(store: Store): Promise<boolean> {
	return (await store.audit.verify([])).status === "intact";
}
