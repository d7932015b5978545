import { endSession, listSessions, type OwnSessionNeeds } from "../../accounts/sessions.ts";
import type { SessionUse } from "../../policy/model.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { ofAccount } from "./account-frame.ts";
import { programOf } from "./browser-names.ts";
import { more, table, time } from "./components.ts";

/** Dependencies of the page of one's own sessions. */
export type OwnSessionPageNeeds = OwnSessionNeeds;

const PAGE = 100;
const PATH = /^\/console\/account\/sessions$/;

/** The caller's open sessions, and how to end each. */
export function ownSessionsPage(needs: OwnSessionPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => sessions(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => end(needs, visit) },
	];
}

async function sessions(needs: OwnSessionPageNeeds, { actor, query, token }: Visit): Promise<Page> {
	const { rows, pagination } = await listSessions(needs, actor, { limit: PAGE, cursor: query.cursor });
	const lines = rows.map(({ jti, created_at, expires_at, provider, current, used }) => {
		const way = provider === "" ? "password" : provider;
		const button = current ? html`<strong>this one</strong>` : ending(jti, created_at, token);
		return html`<tr><th scope="row">${time(created_at)}</th><td data-label="Signed in with">${way}</td>${lastUse(used)}<td data-label="Ends">${time(expires_at)}</td><td>${button}</td></tr>`;
	});
	return {
		title: "Your sessions",
		...ofAccount("Where you are signed in"),
		body: html`<p>Each browser and each terminal where you signed in has a session, for at most 24 hours. If you do not recognize one, end it: somebody else may be able to sign in as you. Then <a href="/console/account/identities">change the password</a>, which ends all other sessions.</p>${table("Your open sessions", ["Began", "Signed in with", ...LAST_USE, "Ends", "End it"], lines)}${more(pagination, (cursor) => address`/console/account/sessions?cursor=${cursor}`)}`,
		commands: [command`svc session list`, command`svc session end SESSION-ID`, command`svc password`],
	};
}

/** Headings of the cells of a session's last use. */
export const LAST_USE = ["Last used", "With", "From"];

/** Says when a session was last used, with which program, and from where. */
export function lastUse(used: SessionUse | undefined): Html {
	return html`<td data-label="Last used">${used === undefined ? "not since the server started" : time(used.at)}</td><td data-label="With">${used === undefined ? "" : programOf(used.agent)}</td><td data-label="From">${used?.ip ?? ""}</td>`;
}

/** Writes when a session began, for a label. */
export const began = (created_at: string) => `${created_at.slice(0, 16).replace("T", " ")} UTC`;

function ending(id: string, created_at: string, token: Html): Html {
	return html`<form method="post" action="/console/account/sessions">${token}<input type="hidden" name="id" value="${id}"><button aria-label="End the session that began ${began(created_at)}">End</button></form>`;
}

async function end(needs: OwnSessionPageNeeds, visit: Visit): Promise<Moved> {
	await endSession(needs, visit.actor, fieldOf(visit, "id"));
	return { to: address`/console/account/sessions`, message: "The session has ended." };
}
