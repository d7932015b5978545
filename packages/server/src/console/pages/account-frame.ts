import { address } from "../html.ts";
import type { Page } from "../page.ts";

/** Makes the tabs of your account's pages. @param current the title of the tab */
export function ofAccount(current: string): Pick<Page, "tabs"> {
	return {
		tabs: {
			name: "Your account",
			current,
			links: [
				["API tokens", address`/console/account`],
				["Where you are signed in", address`/console/account/sessions`],
				["Password and linked identities", address`/console/account/identities`],
				["Second factor", address`/console/account/factors`],
				["Open invitations", address`/console/invitations`],
			],
		},
	};
}
