import * as v from "valibot";
import { type AuditNeeds, type EventFilter, listEvents } from "../../audit/audit.ts";
import { EVENT_TYPES } from "../../audit/event-types.ts";
import { peopleIn } from "../../audit/people.ts";
import { check } from "../../http/input.ts";
import { Environment, instantOf } from "../../messages.ts";
import { type NameNeeds, type Names, nameIn, namesOf } from "../../names.ts";
import type { Actor } from "../../policy/model.ts";
import { type Command, command } from "../command.ts";
import { type Address, type Html, html } from "../html.ts";
import type { Fields } from "../page.ts";
import { more, options, table, time } from "./components.ts";
import { COLUMNS } from "./secrets.ts";

/** Events on a page. */
const PAGE = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Facts of an event that say nothing to a reader; nor does what is false, but for a list without values. */
const UNSAID = new Set(["request_id", "rows", "session_id", "key_set", "token_label"]);

const Text = v.optional(v.pipe(v.string(), v.maxLength(255)));
const Filter = v.object({
	...{ realm: Text, key: Text, actor: Text, type: Text, token: Text },
	environment: v.optional(Environment),
	since: v.optional(instantOf("since")),
	until: v.optional(instantOf("until")),
});

/** Fields of a filter, as an address has them; each may be empty. */
export type FilterFields = Record<"realm" | "key" | "env" | "actor" | "type" | "token" | "since" | "until", string>;

/** Reads the filter that an address names. */
export function filterIn({
	realm = "",
	key = "",
	env = "",
	actor = "",
	type = "",
	token = "",
	...rest
}: Fields): FilterFields {
	const { since = "", until = "" } = rest;
	return { realm, key, env, actor, type, token, since, until };
}

/** Lists the events that match a filter. */
export interface EventList {
	filter: FilterFields;
	/** Where the filter is for one realm, the list needs no column for it. */
	isOfRealm: boolean;
	cursor: string | undefined;
	/** Address of the next page. */
	next(cursor: string): Address;
}

/** Shows a page of the events that the caller may see and the filter matches, newest first. @throws AppError validation_failed, invalid_environment */
export async function eventsTable(needs: AuditNeeds & NameNeeds, actor: Actor, list: EventList): Promise<Html> {
	const { isOfRealm, cursor, next } = list;
	const filter = check(Filter, queryOf(list.filter)) as EventFilter;
	const { rows, pagination } = await listEvents(needs, actor, filter, { limit: PAGE, cursor });
	if (rows.length === 0) return html`<p>No event matches.</p>${more(pagination, next)}`;
	const people = await namesOf(
		needs,
		rows.flatMap((row) => [row.actor, ...peopleIn(row.data)]),
	);
	const lines = rows.map(({ timestamp, type, actor: by, realm, data }) => {
		const where = isOfRealm ? "" : html`<td data-label="Realm" class="whole">${realm}</td>`;
		return html`<tr><td data-label="When">${time(timestamp)}</td><th scope="row" class="type">${type}</th><td data-label="Who" class="by">${nameIn(people, by)}</td>${where}<td data-label="Facts">${factsOf(data, people)}</td></tr>`;
	});
	const headings = ["When", "Event", "Who", ...(isOfRealm ? [] : ["Realm"]), "Facts"];
	return html`${table("Events, newest first", headings, lines)}${more(pagination, next)}`;
}

/** Leaves out empty fields, and takes a day for its first instant in UTC. */
function queryOf({ env, since, until, ...texts }: FilterFields): Fields {
	const day = (date: string) => (date.length === 10 ? `${date}T00:00:00Z` : date);
	const given = { ...texts, environment: env, since: day(since), until: day(until) };
	return Object.fromEntries(Object.entries(given).filter(([, text]) => text !== ""));
}

/** The day that the filter is for, if it is for one. */
export function dayIn({ since, until }: FilterFields): string | undefined {
	const isOne = since.length === 10 && until.length === 10 && Date.parse(until) - Date.parse(since) === DAY_MS;
	return isOne ? since : undefined;
}

/** The same filter as options of `svc audit list`. */
export function optionsFor({ realm, key, env, actor, type, token, since, until }: FilterFields): Command[] {
	return [
		...(realm ? [command`--realm ${realm}`] : []),
		...(key ? [command`--key ${key}`] : []),
		...(env ? [command`--env ${env}`] : []),
		...(actor ? [command`--actor ${actor}`] : []),
		...(type ? [command`--type ${type}`] : []),
		...(token ? [command`--token ${token}`] : []),
		...(since ? [command`--since ${since}`] : []),
		...(until ? [command`--until ${until}`] : []),
	];
}

/** Makes the form of a filter. @param realm undefined where the page is of one realm */
export function filterForm(to: Address, filter: FilterFields, { isOfRealm }: Pick<EventList, "isOfRealm">): Html {
	const text = (name: keyof FilterFields, label: string) =>
		html`<p><label for="${name}">${label}</label><input id="${name}" name="${name}" type="text" value="${filter[name]}" autocomplete="off" spellcheck="false" autocapitalize="off"></p>`;
	const types = EVENT_TYPES.map((type) => html`<option value="${type}"></option>`);
	return html`<search><form method="get" action="${to}" class="row">
${isOfRealm ? "" : text("realm", "Realm")}${text("key", "Key")}
<p><label for="env">Environment</label><select id="env" name="env"><option value="">any</option>${options(COLUMNS, filter.env)}</select></p>
${text("actor", "Who: e-mail, or realm/machine")}
<p><label for="type">Event, such as secret.*</label><input id="type" name="type" type="text" value="${filter.type}" list="types" autocomplete="off" spellcheck="false" autocapitalize="off"><datalist id="types">${types}</datalist></p>
${text("token", "Id of an API token")}
<p><label for="since">From</label><input id="since" name="since" type="date" value="${filter.since}"></p>
<p><label for="until">Before</label><input id="until" name="until" type="date" value="${filter.until}"></p>
<p><button>Show</button></p></form></search>`;
}

/** Shows an event's facts: names and simple values, none of which is broken where it fits in a line. */
function factsOf(data: string, people: ReadonlyMap<string, Names>): Html[] {
	const facts = Object.entries(JSON.parse(data) as Record<string, unknown>);
	const isSaid = (fact: unknown) => typeof fact !== "object" && fact !== "" && fact !== false;
	const said = facts.filter(([name, fact]) => (name === "values" || isSaid(fact)) && !UNSAID.has(name));
	return said.map(([name, fact], at) => {
		const comma = at < said.length - 1 ? "," : "";
		const words = name === "values" && fact === false ? "without values" : `${name} ${nameIn(people, String(fact))}`;
		return html`<span class="fact">${words}${comma}</span> `;
	});
}
