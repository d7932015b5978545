import type { Actor } from "../../policy/model.ts";
import { address, type Html, html } from "../html.ts";
import type { Link, Page } from "../page.ts";

/** Pages that only the instance admin is offered. The rules decide. */
const FOR_ADMINS: readonly Link[] = [
	["Doctor", address`/console/doctor`],
	["Engines", address`/console/engines`],
	["Backups", address`/console/backups`],
	["Keys", address`/console/keys`],
	["Limits", address`/console/limits`],
	["People", address`/console/people`],
	["Providers", address`/console/providers`],
];

/** Makes the parts that the pages of the server share. @param current the title of the tab */
export function ofServer(current: string, actor: Actor): Pick<Page, "above" | "tabs"> {
	return { above: [["Realms", address`/console`]], tabs: { name: "Server", current, links: linksFor(actor) } };
}

const linksFor = ({ instance_admin }: Actor): Link[] => [
	["Health", address`/console/health`],
	...(instance_admin ? FOR_ADMINS : []),
];

/** Leads to the pages of the server from the first page. */
export function toServer(actor: Actor): Html {
	if (!actor.instance_admin) return html`<p><a href="${address`/console/health`}">Health of this server</a></p>`;
	const items = linksFor(actor).map(([label, to]) => html`<li><a href="${to}">${label}</a></li>`);
	return html`<h2 id="server">This server</h2><nav aria-labelledby="server"><ul>${items}</ul></nav>`;
}
