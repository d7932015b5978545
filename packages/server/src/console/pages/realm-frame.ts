import type { AccessNeeds } from "../../policy/authorize.ts";
import { realmNotFound } from "../../policy/decide.ts";
import { type Actor, type Capability, ROLES } from "../../policy/model.ts";
import { address } from "../html.ts";
import type { Link, Page } from "../page.ts";

/** Lists the actions that the caller may take in a realm: a page offers only these. The rules decide. */
export type May = (capability: Capability) => boolean;

/** Reads the caller's role, for what to offer. @throws AppError not_found */
export async function mayIn({ store }: AccessNeeds, actor: Actor, slug: string): Promise<May> {
	const role = (await store.realms.access(slug, actor.user_id))?.role ?? undefined;
	if (role === undefined) throw realmNotFound();
	const capabilities: readonly Capability[] = ROLES[role];
	return (capability) => capabilities.includes(capability);
}

/** Makes the parts that the pages of a realm share. @param current the title of the tab @param may offers only the tabs that the caller may open */
export function inRealm(slug: string, current: string, may: May = () => false): Pick<Page, "above" | "tabs"> {
	const machines: Link[] = may("policy:manage") ? [["Machines", address`/console/realms/${slug}/machines`]] : [];
	const settings: Link[] = may("realms:manage") ? [["Settings", address`/console/realms/${slug}/settings`]] : [];
	return {
		above: [[slug, address`/console/realms/${slug}`]],
		tabs: {
			name: `Realm ${slug}`,
			current,
			links: [
				["Secrets", address`/console/realms/${slug}`],
				["Leases", address`/console/realms/${slug}/leases`],
				["Members", address`/console/realms/${slug}/members`],
				...machines,
				["Audit", address`/console/realms/${slug}/audit`],
				...settings,
			],
		},
	};
}
