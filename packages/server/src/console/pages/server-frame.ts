import type { Actor } from "../../policy/model.ts";
import { address } from "../html.ts";
import type { Link, Page } from "../page.ts";

/** Pages that only the instance admin is offered. The rules decide. */
const FOR_ADMINS: readonly Link[] = [
	["Doctor", address`/console/doctor`],
	["Engines", address`/console/engines`],
	["Leases", address`/console/leases`],
	["Backups", address`/console/backups`],
	["Keys", address`/console/keys`],
	["Limits", address`/console/limits`],
	["People", address`/console/people`],
	["Providers", address`/console/providers`],
];

/** Makes the parts that the pages of the server share. @param current the title of the tab */
export function ofServer(current: string, actor: Actor): Pick<Page, "above" | "tabs"> {
	return { tabs: { name: "Server", current, links: linksFor(actor) } };
}

const linksFor = ({ instance_admin }: Actor): Link[] => [
	["Health", address`/console/health`],
	["Audit", address`/console/audit`],
	...(instance_admin ? FOR_ADMINS : []),
];
