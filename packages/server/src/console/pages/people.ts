import { type AccountNeeds, listUsers } from "../../accounts/accounts.ts";
import type { Account } from "../../accounts/model.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { more, table, time } from "./components.ts";
import { ofServer } from "./server-frame.ts";

const PAGE = 100;

/** Everybody with an account, for the instance admin, and the way to the page of each. */
export function peoplePage(needs: AccountNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/people$/, answer: (visit) => people(needs, visit) }];
}

async function people(needs: AccountNeeds, { actor, query }: Visit): Promise<Page> {
	const { rows, pagination } = await listUsers(needs, actor, { limit: PAGE, cursor: query.cursor });
	const headings = ["E-mail", "Name", "Since", "State"];
	return {
		...ofServer("People", actor),
		title: "People",
		body: html`${table("Everybody with an account: the e-mail leads to what they hold, and to what you can do", headings, rows.map(line))}${more(pagination, (cursor) => address`/console/people?cursor=${cursor}`)}`,
		commands: [command`svc users list`],
	};
}

function line({ id, email, name, created_at, ...standing }: Account): Html {
	return html`<tr><th scope="row"><a href="/console/people/${id}">${email}</a></th><td data-label="Name">${name}</td><td data-label="Since">${time(created_at)}</td><td data-label="State" class="type">${stateOf(standing)}</td></tr>`;
}

/** Says whether somebody is disabled, or an instance admin. */
export function stateOf({
	instance_admin,
	disabled_at,
}: Pick<Account, "instance_admin" | "disabled_at">): Html | string {
	const admin = instance_admin ? "instance admin" : "";
	return disabled_at === null ? admin : html`<span class="bad">disabled</span> ${admin}`;
}
