import type { EventQuery } from "../audit/model.ts";
import type { Store } from "../store/store.ts";

const EVERYTHING: Omit<EventQuery, "scopes"> = {
	realm: undefined,
	type: undefined,
	actors: undefined,
	before: undefined,
	limit: 1000,
};

/** Lists events after a place in the log, oldest first, as type and facts. @param realm_ids realms whose events to include */
export async function eventsAfter(
	store: Store,
	seq: number,
	realm_ids: string[] = [],
): Promise<[type: string, data: Record<string, unknown>][]> {
	const scopes = [{ realm_ids: ["", ...realm_ids] }, { type: "realm.deleted" as const }];
	const events = await store.audit.list({ ...EVERYTHING, scopes });
	return events
		.filter((event) => event.seq > seq)
		.map((event): [string, Record<string, unknown>] => [event.type, JSON.parse(event.data)])
		.reverse();
}

/** Tells whether the whole chain is as it was written. */
export async function isChainIntact(store: Store): Promise<boolean> {
	return (await store.audit.verify([])).status === "intact";
}
