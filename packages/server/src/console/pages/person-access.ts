import { type AccountNeeds, getUser } from "../../accounts/accounts.ts";
import { endSessionOf, listSessionsOf, type SessionNeedsOfAdmins, sessionOf } from "../../accounts/sessions.ts";
import type { Actor } from "../../policy/model.ts";
import { listTokensOf, revokeTokenOf, type TokenNeedsOfAdmins, tokenOf } from "../../tokens/tokens.ts";
import { command } from "../command.ts";
import { type Address, address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { more, table, time } from "./components.ts";
import { began, LAST_USE, lastUse } from "./own-sessions.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of showing and ending what lets somebody in. */
export type PersonAccessNeeds = SessionNeedsOfAdmins & TokenNeedsOfAdmins & AccountNeeds;

/** Sessions and tokens that the page shows at a time. */
const PAGE = 100;
const SESSION = /^\/console\/people\/([^/]+)\/sessions\/([^/]+)\/end$/;
const TOKEN = /^\/console\/people\/([^/]+)\/tokens\/([^/]+)\/end$/;

/** Pages that ask before one session, or one API token, of somebody ends. */
export function personAccessPages(needs: PersonAccessNeeds): Endpoint[] {
	return [
		{ method: "GET", path: SESSION, answer: (visit) => askToEndSession(needs, visit) },
		{ method: "POST", path: SESSION, answer: (visit) => endSession(needs, visit) },
		{ method: "GET", path: TOKEN, answer: (visit) => askToRevoke(needs, visit) },
		{ method: "POST", path: TOKEN, answer: (visit) => revoke(needs, visit) },
	];
}

/** Lists the sessions and API tokens of somebody, the tokens without their values. */
export async function accessOf(needs: PersonAccessNeeds, { actor, query }: Visit, user_id: string): Promise<Html> {
	return html`${await sessions(needs, actor, user_id, query.sessions)}${await tokens(needs, actor, user_id, query.tokens)}`;
}

async function sessions(
	needs: PersonAccessNeeds,
	actor: Actor,
	user_id: string,
	cursor: string | undefined,
): Promise<Html | string> {
	const { rows, pagination } = await listSessionsOf(needs, actor, user_id, { limit: PAGE, cursor });
	if (rows.length === 0) return "";
	const lines = rows.map(({ jti, created_at, expires_at, provider, used }) => {
		const end =
			jti === actor.jti
				? html`<strong>this one</strong>`
				: html`<a class="button" href="/console/people/${user_id}/sessions/${jti}/end" aria-label="End the session that began ${began(created_at)}">End</a>`;
		return html`<tr><th scope="row">${time(created_at)}</th><td data-label="Signed in with">${provider || "password"}</td>${lastUse(used)}<td data-label="Ends">${time(expires_at)}</td><td>${end}</td></tr>`;
	});
	const headings = ["Began", "Signed in with", ...LAST_USE, "Ends", "End it"];
	return html`${table("Open sessions", headings, lines)}${more(pagination, (next) => address`/console/people/${user_id}?sessions=${next}`)}`;
}

async function tokens(
	needs: PersonAccessNeeds,
	actor: Actor,
	user_id: string,
	cursor: string | undefined,
): Promise<Html | string> {
	const { rows, pagination } = await listTokensOf(needs, actor, user_id, { limit: PAGE, cursor });
	if (rows.length === 0) return "";
	const lines = rows.map(
		({ id, name, prefix, scopes, last_used_at, expires_at }) =>
			html`<tr><th scope="row">${name}</th><td data-label="Begins with" class="key">${prefix}</td><td data-label="May">${scopes.replaceAll(",", ", ")}</td><td data-label="Last used">${last_used_at === null ? "never" : html`<a href="/console/audit?token=${id}" aria-label="What the token ${name} did">${time(last_used_at)}</a>`}</td><td data-label="Ends">${expires_at === null ? "never" : time(expires_at)}</td><td><a class="button" href="/console/people/${user_id}/tokens/${id}/end" aria-label="End the token ${name}">End</a></td></tr>`,
	);
	const headings = ["Name", "Begins with", "May", "Last used", "Ends", "End it"];
	return html`${table("API tokens, without their values", headings, lines)}${more(pagination, (next) => address`/console/people/${user_id}?tokens=${next}`)}`;
}

const pageOf = ([user_id = ""]: readonly string[]): Address => address`/console/people/${user_id}`;

async function askToEndSession(needs: PersonAccessNeeds, visit: Visit): Promise<Page> {
	const { actor, params, token } = visit;
	const [id = "", session = ""] = params;
	const { email } = await getUser(needs, actor, id);
	const { created_at } = await sessionOf(needs, actor, id, session);
	return {
		...ofServer("People", actor),
		above: [[email, pageOf(params)]],
		title: "End this session?",
		body: html`<p>It is a session of ${email}, which began at ${time(created_at)}. Its browser or terminal is signed out immediately. Other sessions and API tokens of the account stay, and anybody who knows the password can sign in again.</p><form method="post" action="/console/people/${id}/sessions/${session}/end">${token}<p><button>End the session</button></p></form><p><a href="${pageOf(params)}">Keep it</a></p>`,
		commands: [command`svc session end ${session} --user ${email}`],
	};
}

async function endSession(needs: PersonAccessNeeds, { actor, params }: Visit): Promise<Moved> {
	const [id = "", session = ""] = params;
	await endSessionOf(needs, actor, id, session);
	return { to: pageOf(params), message: "The session has ended." };
}

async function askToRevoke(needs: PersonAccessNeeds, visit: Visit): Promise<Page> {
	const { actor, params, token } = visit;
	const [id = "", token_id = ""] = params;
	const { email } = await getUser(needs, actor, id);
	const { name, prefix } = await tokenOf(needs, actor, id, token_id);
	return {
		...ofServer("People", actor),
		above: [[email, pageOf(params)]],
		title: `End the token ${name}?`,
		body: html`<p>It belongs to ${email} and begins with <code>${prefix}</code>. A program that uses it is refused from then on, and so is one that uses a token made with it. You cannot restore it.</p><form method="post" action="/console/people/${id}/tokens/${token_id}/end">${token}<p><button>End the token</button></p></form><p><a href="${pageOf(params)}">Keep it</a></p>`,
		commands: [command`svc token revoke ${token_id} --user ${email}`],
	};
}

async function revoke(needs: PersonAccessNeeds, { actor, params }: Visit): Promise<Moved> {
	const [id = "", token_id = ""] = params;
	await revokeTokenOf(needs, actor, id, token_id);
	return { to: pageOf(params), message: "The token has ended, and so have those that it made." };
}
