import type { AuditNeeds } from "../../audit/audit.ts";
import { type DayNeeds, eventsPerDay } from "../../audit/days.ts";
import type { NameNeeds } from "../../names.ts";
import type { AccessNeeds } from "../../policy/authorize.ts";
import type { Actor } from "../../policy/model.ts";
import { command, joined } from "../command.ts";
import { address, type Html, html, withQuery } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { type ChainPageNeeds, chainLine } from "./chain.ts";
import { dayChart } from "./day-chart.ts";
import { dayIn, eventsTable, type FilterFields, filterForm, filterIn, optionsFor } from "./events.ts";
import { readsChart } from "./reads-section.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { COLUMNS } from "./secrets.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the pages of the log. */
export type AuditPageNeeds = AuditNeeds & AccessNeeds & NameNeeds & DayNeeds & ChainPageNeeds;

/** The log, newest first, with a filter: a realm's, and everything that the caller may see. */
export function auditPages(needs: AuditPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: /^\/console\/realms\/([^/]+)\/audit$/, answer: (visit) => ofRealm(needs, visit) },
		{ method: "GET", path: /^\/console\/audit$/, answer: (visit) => ofEverything(needs, visit) },
	];
}

/** Makes the address of a realm's log. */
function realmLog({ realm, ...filter }: FilterFields, more: Readonly<Record<string, string>> = {}) {
	return withQuery(address`/console/realms/${realm}/audit`, { ...filter, ...more });
}

async function ofRealm(needs: AuditPageNeeds, { actor, params: [slug = ""], query }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const filter = { ...filterIn(query), realm: slug };
	const next = (cursor: string) => realmLog(filter, { cursor });
	const list = await eventsTable(needs, actor, { filter, isOfRealm: true, cursor: query.cursor, next });
	const form = filterForm(address`/console/realms/${slug}/audit`, filter, { isOfRealm: true });
	return {
		...inRealm(slug, "Audit", may),
		title: `Audit of ${slug}`,
		body: html`${await chartFor(needs, actor, filter)}${form}${list}${await chainLine(needs, actor)}`,
		commands: [joined(command`svc audit list`, ...optionsFor(filter)), command`svc audit verify`],
	};
}

/** Draws the reads of the secret that the filter is for; else all events of the realm. */
async function chartFor(needs: AuditPageNeeds, actor: Actor, filter: FilterFields): Promise<Html> {
	const { realm: slug, key, env } = filter;
	const chosen = dayIn(filter);
	const to = (since: string, until: string) => realmLog(filter, { since, until });
	const environment = COLUMNS.find((one) => one === env);
	if (key !== "" && environment !== undefined) {
		const { chart } = await readsChart(needs, actor, { slug, key, environment }, { to, chosen });
		return chart;
	}
	const days = (await eventsPerDay(needs, actor, slug)).map((one) => ({ ...one, count: one.events, bad: one.denials }));
	return dayChart({ ...{ title: "Events a day in this realm", counted: "Events", bad: "Denied", days, chosen }, to });
}

async function ofEverything(needs: AuditPageNeeds, { actor, query }: Visit): Promise<Page> {
	const filter = filterIn(query);
	const next = (cursor: string) => withQuery(address`/console/audit`, { ...filter, cursor });
	const list = await eventsTable(needs, actor, { filter, isOfRealm: false, cursor: query.cursor, next });
	const seen = actor.instance_admin
		? "Events outside realms, those of your realms, and deletions of realms. Other realms' events are for their members."
		: "Events of your realms, and what you did outside realms.";
	return {
		...ofServer("Audit", actor),
		title: "Audit",
		body: html`<p class="quiet">${seen}</p>${filterForm(address`/console/audit`, filter, { isOfRealm: false })}${list}${await chainLine(needs, actor)}`,
		commands: [joined(command`svc audit list`, ...optionsFor(filter)), command`svc audit verify`],
	};
}
