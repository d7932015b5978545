import * as v from "valibot";
import { type AuditNeeds, listEvents } from "../../audit/audit.ts";
import { check } from "../../http/input.ts";
import { instantOf } from "../../messages.ts";
import { type NameNeeds, nameIn, namesOf } from "../../names.ts";
import type { AccessNeeds } from "../../policy/authorize.ts";
import { type Command, command, joined } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Fields, Page, Visit } from "../page.ts";
import { more, table, time } from "./parts.ts";
import { inRealm, mayIn } from "./realm-frame.ts";

/** Dependencies of the page of a realm's log. */
export type AuditPageNeeds = AuditNeeds & AccessNeeds & NameNeeds;

const PAGE = 50;

/** Facts of an event that say nothing to a reader. */
const UNSAID = new Set(["request_id", "rows", "session_id"]);

const Text = v.optional(v.pipe(v.string(), v.maxLength(255)));
const Filter = v.object({
	...{ key: Text, actor: Text, type: Text },
	since: v.optional(instantOf("since")),
	until: v.optional(instantOf("until")),
});

/** A realm's log, newest first, with a filter. */
export function auditPage(needs: AuditPageNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/realms\/([^/]+)\/audit$/, answer: (visit) => audit(needs, visit) }];
}

async function audit(needs: AuditPageNeeds, { actor, params: [slug = ""], query }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const filter = { realm: slug, ...check(Filter, filterOf(query)) };
	const { rows, pagination } = await listEvents(needs, actor, filter, { limit: PAGE, cursor: query.cursor });
	const people = await namesOf(
		needs,
		rows.map((row) => row.actor),
	);
	const lines = rows.map(
		({ timestamp, type, actor: by, data }) =>
			html`<tr><td data-label="When">${time(timestamp)}</td><th scope="row" class="type">${type}</th><td data-label="Who">${nameIn(people, by)}</td><td data-label="Facts">${factsOf(data)}</td></tr>`,
	);
	const { key = "", actor: who = "", type = "", since = "", until = "" } = query;
	const next = (cursor: string) =>
		address`/console/realms/${slug}/audit?key=${key}&actor=${who}&type=${type}&since=${since}&until=${until}&cursor=${cursor}`;
	const list =
		rows.length === 0
			? html`<p>No event matches.</p>`
			: table("Events, newest first", ["When", "Event", "Who", "Facts"], lines);
	return {
		...inRealm(slug, "Audit", may),
		title: `Audit of ${slug}`,
		body: html`${form(slug, query)}${list}${more(pagination, next)}${actor.instance_admin ? html`<p><a href="/console/chain">The log's chain: is it whole?</a></p>` : ""}`,
		commands: [joined(command`svc audit list --realm ${slug}`, ...optionsFor(query)), command`svc audit verify`],
	};
}

/** Leaves out empty fields, and takes a day for its first instant in UTC. */
function filterOf({ key, actor, type, since, until }: Fields): Fields {
	const day = (date: string | undefined) => (date ? (date.length === 10 ? `${date}T00:00:00Z` : date) : undefined);
	return {
		key: key || undefined,
		actor: actor || undefined,
		type: type || undefined,
		since: day(since),
		until: day(until),
	};
}

/** The same filter as options of `svc audit list`. */
function optionsFor({ key, actor, type, since, until }: Fields): Command[] {
	return [
		...(key ? [command`--key ${key}`] : []),
		...(actor ? [command`--actor ${actor}`] : []),
		...(type ? [command`--type ${type}`] : []),
		...(since ? [command`--since ${since}`] : []),
		...(until ? [command`--until ${until}`] : []),
	];
}

function form(slug: string, { key = "", actor = "", type = "", since = "", until = "" }: Fields): Html {
	return html`<search><form method="get" action="/console/realms/${slug}/audit" class="row">
<p><label for="key">Key</label><input id="key" name="key" type="text" value="${key}" autocomplete="off" spellcheck="false"></p>
<p><label for="actor">Who (e-mail)</label><input id="actor" name="actor" type="text" value="${actor}" autocomplete="off" spellcheck="false"></p>
<p><label for="type">Event, such as secret.*</label><input id="type" name="type" type="text" value="${type}" autocomplete="off" spellcheck="false"></p>
<p><label for="since">From</label><input id="since" name="since" type="date" value="${since}"></p>
<p><label for="until">Before</label><input id="until" name="until" type="date" value="${until}"></p>
<p><button>Show</button></p></form></search>`;
}

/** Shows an event's facts as text: names and simple values. */
function factsOf(data: string): string {
	const facts = Object.entries(JSON.parse(data) as Record<string, unknown>);
	const said = facts.filter(([name, fact]) => !UNSAID.has(name) && typeof fact !== "object" && fact !== "");
	return said.map(([name, fact]) => `${name} ${String(fact)}`).join(", ");
}
