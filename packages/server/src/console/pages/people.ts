import { type AccountNeeds, listUsers } from "../../accounts/accounts.ts";
import type { Account } from "../../accounts/model.ts";
import { setAdmin, setDisabled } from "../../accounts/status.ts";
import { AppError } from "../../errors.ts";
import { createReset, dropFactors, type ResetNeeds } from "../../resets/resets.ts";
import { type RevocationNeeds, revokeAccess } from "../../revocation/revocation.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { more, table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { keepOnce, ONCE_SECONDS, onceBox, takeOnce } from "./once.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of people. */
export type PeoplePageNeeds = AccountNeeds & RevocationNeeds & ResetNeeds & AskAgainNeeds;

const PAGE = 100;
const PATH = /^\/console\/people$/;

/** Name under which a reset code is kept for the next page. */
const RESET = "reset code";

/** Everybody with an account, for the instance admin: disable, enable, make an admin, reset a password, end lost factors and what somebody holds. */
export function peoplePage(needs: PeoplePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => people(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
	];
}

async function people(needs: PeoplePageNeeds, visit: Visit): Promise<Page> {
	const { actor, query, token } = visit;
	const { rows, pagination } = await listUsers(needs, actor, { limit: PAGE, cursor: query.cursor });
	const lines = rows.map((account) => line(account, account.id === actor.user_id, token));
	const code = takeOnce(visit, needs.system, RESET);
	const shown = code === undefined ? "" : onceBox("The reset code", code, HANDING_ON);
	return {
		...ofServer("People", actor),
		title: "People",
		...(code === undefined ? {} : { refresh: ONCE_SECONDS }),
		body: html`${shown}${table("Everybody with an account", ["E-mail", "Name", "Since", "State", "Change"], lines)}${more(pagination, (cursor) => address`/console/people?cursor=${cursor}`)}`,
		commands: [
			command`svc users list`,
			command`svc users disable EMAIL`,
			command`svc users admin EMAIL`,
			command`svc users reset EMAIL`,
			command`svc users drop-second-factor EMAIL`,
			command`svc revoke --user EMAIL`,
		],
	};
}

const HANDING_ON =
	"Give it to that person alone: anybody who has it becomes this user. It works once, within 24 hours, with `svc reset EMAIL`.";

/** Makes a form that does something to an account. */
type Button = (action: string, label: string) => Html;

function line(account: Account, isSelf: boolean, token: Html): Html {
	const { id, email, name, created_at, instance_admin, disabled_at } = account;
	const state = disabled_at === null ? "" : html`<span class="bad">disabled</span> `;
	const admin = instance_admin ? "admin" : "";
	const button: Button = (action, label) =>
		html`<form method="post" action="/console/people">${token}<input type="hidden" name="user_id" value="${id}"><input type="hidden" name="action" value="${action}"><button aria-label="${label}: ${email}">${label}</button></form>`;
	const change = html`<p><a href="/console/audit?actor=${email}" aria-label="Audit of ${email}">Audit</a></p><details><summary aria-label="Change ${email}">Change</summary>${isSelf ? "" : status(account, button)}<p>Revoking ends the sessions, the API tokens, the credentials of engines, and the identities that were linked in the last 30 days. It does not disable the account.</p>${button("revoke", "Revoke")}</details>`;
	return html`<tr><th scope="row">${email}</th><td data-label="Name">${name}</td><td data-label="Since">${time(created_at)}</td><td data-label="State" class="type">${state}${admin}</td><td>${change}</td></tr>`;
}

/** Offers what changes somebody else's account. */
function status({ instance_admin, disabled_at, password }: Account, button: Button): Html {
	const dropping = html`<p>For somebody who lost the second factor: the password is then enough to sign in until they add a new one. Recovery codes and sessions end, too.</p>${button("drop-factors", "End the second factors")}`;
	if (disabled_at !== null) return html`${button("enable", "Enable")}${dropping}`;
	const resetting =
		password === null
			? html`<p>The account has no password: its owner signs in at a provider.</p>`
			: html`<p>With a reset code, somebody who forgot the password sets a new one. A second factor stays.</p>${button("reset", "Make a reset code")}${dropping}`;
	const admin = instance_admin
		? button("demote", "End being an instance admin")
		: html`<p>An instance admin can do everything that these pages offer, and make others instance admins.</p>${button("promote", "Make an instance admin")}`;
	return html`<p>Disabling ends the sessions and suspends the API tokens, until you enable the account again.</p>${button("disable", "Disable")}${admin}${resetting}`;
}

/** Actions that give somebody access: a stolen or forgotten window must not. */
const GIVING = new Set(["enable", "promote", "reset", "drop-factors"]);

async function act(needs: PeoplePageNeeds, visit: Visit): Promise<Moved> {
	const { actor } = visit;
	const [action, user_id] = [fieldOf(visit, "action"), fieldOf(visit, "user_id")];
	const to = address`/console/people`;
	const asked = GIVING.has(action) ? await askAgain(needs, visit, to) : undefined;
	if (asked !== undefined) return asked;
	switch (action) {
		case "disable":
		case "enable":
			await setDisabled(needs, actor, user_id, action === "disable");
			return { to, message: `The account is ${action}d. It takes effect immediately.` };
		case "promote":
		case "demote": {
			const { email } = await setAdmin(needs, actor, user_id, action === "promote");
			return { to, message: `${email} is ${action === "promote" ? "now" : "no longer"} an instance admin.` };
		}
		case "reset": {
			const { code } = await createReset(needs, actor, user_id);
			keepOnce(visit.notes, needs.system, RESET, code);
			const email = (await needs.store.accounts.byId(user_id))?.email ?? "";
			return { to, message: `The reset code for ${email} is made. An earlier one has ended.` };
		}
		case "drop-factors": {
			const { factors_dropped } = await dropFactors(needs, actor, user_id);
			return { to, message: `Second factors ended: ${factors_dropped}, with the recovery codes and all sessions.` };
		}
		case "revoke":
			await revokeAccess(needs, actor, { user_id, realm: undefined, keep_links: false, with_made: false });
			return { to, message: "What the account held has ended. Credentials of engines go within moments." };
		default:
			throw new AppError(
				"bad_request",
				"action must be disable, enable, promote, demote, reset, drop-factors or revoke",
			);
	}
}
