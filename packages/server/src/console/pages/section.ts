import type { AccessNeeds } from "../../policy/authorize.ts";
import type { Actor } from "../../policy/model.ts";
import type { Page } from "../page.ts";
import { ofAccount } from "./account-frame.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { ofServer } from "./server-frame.ts";

const OF_SERVER = /^\/console\/(?:audit|backups|chain|doctor|engines?|health|keys|leases|limits|people|providers?)\b/;
const IN_REALM = /^\/console\/realms\/([a-z0-9-]+)/;

/** Finds the menu of the section that an address is in, for a page of an error. */
export async function sectionOf(
	needs: AccessNeeds,
	actor: Actor,
	pathname: string,
): Promise<Pick<Page, "above" | "tabs">> {
	if (pathname.startsWith("/console/account")) return ofAccount("");
	if (OF_SERVER.test(pathname)) return ofServer("", actor);
	const [, slug] = IN_REALM.exec(pathname) ?? [];
	const may = slug === undefined ? undefined : await mayIn(needs, actor, slug).catch(() => undefined);
	return slug === undefined || may === undefined ? {} : inRealm(slug, "", may);
}
