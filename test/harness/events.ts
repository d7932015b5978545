import type { Api } from "./client.ts";
import { ok } from "./expect.ts";
import type { Person } from "./fixtures.ts";
import type { AuditEvent, Page } from "./resources.ts";

/** An audit event with parsed data, and next to it the rows that the event names. */
export type ReadEvent = Omit<AuditEvent, "data"> & {
	readonly data: Readonly<Record<string, unknown>>;
	readonly rows: string | undefined;
};

/** Returns every event that the person may see, newest first, over all pages. `filter` is a query such as `type=secret.set`. */
export async function events(api: Api, who: Pick<Person, "token">, filter = ""): Promise<ReadEvent[]> {
	const found: ReadEvent[] = [];
	let cursor: string | undefined = "";
	while (cursor !== undefined) {
		const query: string = `limit=100&${filter}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
		const body: Page & { events: AuditEvent[] } = ok(await api.get(`/audit/events?${query}`, { token: who.token }));
		found.push(...body.events.map(parse));
		cursor = body.pagination.next_cursor;
	}
	return found;
}

function parse(event: AuditEvent): ReadEvent {
	const { rows, ...data } = JSON.parse(event.data);
	return { ...event, data, rows };
}

/** Returns the newest event of a type that the person may see, if any. */
export async function newest(api: Api, who: Pick<Person, "token">, type: string): Promise<ReadEvent | undefined> {
	return (await events(api, who, `type=${type}`))[0];
}
