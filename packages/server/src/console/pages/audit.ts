import * as v from "valibot";
import { type AuditNeeds, listEvents } from "../../audit/audit.ts";
import { type DayNeeds, eventsPerDay } from "../../audit/days.ts";
import { check } from "../../http/input.ts";
import { instantOf } from "../../messages.ts";
import { type NameNeeds, nameIn, namesOf } from "../../names.ts";
import type { AccessNeeds } from "../../policy/authorize.ts";
import { type Command, command, joined } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Fields, Page, Visit } from "../page.ts";
import { type ChainPageNeeds, chainLine } from "./chain.ts";
import { more, table, time } from "./components.ts";
import { dayChart } from "./day-chart.ts";
import { inRealm, mayIn } from "./realm-frame.ts";

/** Dependencies of the page of a realm's log. */
export type AuditPageNeeds = AuditNeeds & AccessNeeds & NameNeeds & DayNeeds & ChainPageNeeds;

const PAGE = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Facts of an event that say nothing to a reader. */
const UNSAID = new Set(["request_id", "rows", "session_id", "key_set", "token_label"]);

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
			html`<tr><td data-label="When">${time(timestamp)}</td><th scope="row" class="type">${type}</th><td data-label="Who" class="by">${nameIn(people, by)}</td><td data-label="Facts">${factsOf(data)}</td></tr>`,
	);
	const { key = "", actor: who = "", type = "", since = "", until = "" } = query;
	const next = (cursor: string) =>
		address`/console/realms/${slug}/audit?key=${key}&actor=${who}&type=${type}&since=${since}&until=${until}&cursor=${cursor}`;
	const days = (await eventsPerDay(needs, actor, slug)).map((one) => ({ ...one, count: one.events, bad: one.denials }));
	const chart = dayChart({
		...{ title: "Events a day", counted: "Events", bad: "Denied", days, chosen: dayIn(query) },
		to: (from, before) =>
			address`/console/realms/${slug}/audit?key=${key}&actor=${who}&type=${type}&since=${from}&until=${before}`,
	});
	const list =
		rows.length === 0
			? html`<p>No event matches.</p>`
			: table("Events, newest first", ["When", "Event", "Who", "Facts"], lines);
	return {
		...inRealm(slug, "Audit", may),
		title: `Audit of ${slug}`,
		body: html`${chart}${form(slug, query)}${list}${more(pagination, next)}${await chainLine(needs, actor)}`,
		commands: [joined(command`svc audit list --realm ${slug}`, ...optionsFor(query)), command`svc audit verify`],
	};
}

/** The day that the filter is for, if it is for one. */
function dayIn({ since = "", until = "" }: Fields): string | undefined {
	const isOne = since.length === 10 && until.length === 10 && Date.parse(until) - Date.parse(since) === DAY_MS;
	return isOne ? since : undefined;
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

/** Shows an event's facts: names and simple values, none of which is broken where it fits in a line. */
function factsOf(data: string): Html[] {
	const facts = Object.entries(JSON.parse(data) as Record<string, unknown>);
	const said = facts.filter(([name, fact]) => !UNSAID.has(name) && typeof fact !== "object" && fact !== "");
	return said.map(([name, fact], at) => {
		const comma = at < said.length - 1 ? "," : "";
		return html`<span class="fact">${name} ${String(fact)}${comma}</span> `;
	});
}
