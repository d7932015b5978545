import { type AccountNeeds, listUsers } from "../../accounts/accounts.ts";
import type { Account } from "../../accounts/model.ts";
import { setDisabled } from "../../accounts/standing.ts";
import { AppError } from "../../errors.ts";
import { type RevocationNeeds, revokeAccess } from "../../revocation/revocation.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { more, table, time } from "./parts.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of people. */
export type PeoplePageNeeds = AccountNeeds & RevocationNeeds;

const PAGE = 100;
const PATH = /^\/console\/people$/;

/** Everybody with an account, for the instance admin: disable, enable, end what somebody holds. */
export function peoplePage(needs: PeoplePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => people(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
	];
}

async function people(needs: PeoplePageNeeds, { actor, query, token }: Visit): Promise<Page> {
	const { rows, pagination } = await listUsers(needs, actor, { limit: PAGE, cursor: query.cursor });
	const lines = rows.map((account) => line(account, account.id === actor.user_id, token));
	return {
		...ofServer("People", actor),
		title: "People",
		body: html`${table("Everybody with an account", ["E-mail", "Name", "Since", "State", "Change"], lines)}${more(pagination, (cursor) => address`/console/people?cursor=${cursor}`)}`,
		commands: [command`svc users list`, command`svc users disable EMAIL`, command`svc revoke --user EMAIL`],
	};
}

function line(
	{ id, email, name, created_at, instance_admin, disabled_at }: Account,
	isSelf: boolean,
	token: Html,
): Html {
	const state = disabled_at === null ? "" : html`<span class="bad">disabled</span> `;
	const admin = instance_admin ? "admin" : "";
	const button = (action: string, label: string) =>
		html`<form method="post" action="/console/people">${token}<input type="hidden" name="user_id" value="${id}"><input type="hidden" name="action" value="${action}"><button aria-label="${label}: ${email}">${label}</button></form>`;
	const standing =
		disabled_at === null
			? html`<p>Disabling ends the sessions and suspends the API tokens, until you enable the account again.</p>${button("disable", "Disable")}`
			: button("enable", "Enable");
	const change = html`<details><summary aria-label="Change ${email}">Change</summary>${isSelf ? "" : standing}<p>Revoking ends the sessions, the API tokens, the credentials of engines, and the identities that were linked in the last 30 days. It disables nobody.</p>${button("revoke", "Revoke")}</details>`;
	return html`<tr><th scope="row">${email}</th><td data-label="Name">${name}</td><td data-label="Since">${time(created_at)}</td><td data-label="State" class="type">${state}${admin}</td><td>${change}</td></tr>`;
}

async function act(needs: PeoplePageNeeds, visit: Visit): Promise<Moved> {
	const { actor } = visit;
	const [action, user_id] = [fieldOf(visit, "action"), fieldOf(visit, "user_id")];
	const to = address`/console/people`;
	if (action === "disable" || action === "enable") {
		await setDisabled(needs, actor, user_id, action === "disable");
		return { to, message: `The account is ${action}d. It takes effect immediately.` };
	}
	if (action !== "revoke") throw new AppError("bad_request", "action must be disable, enable or revoke");
	await revokeAccess(needs, actor, { user_id, realm: undefined, keep_links: false, with_made: false });
	return { to, message: "What the account held has ended. Credentials of engines go within moments." };
}
