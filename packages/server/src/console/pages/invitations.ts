import { check } from "../../http/input.ts";
import {
	createInvitation,
	deleteInvitation,
	type InvitationNeeds,
	listInvitations,
} from "../../invitations/invitations.ts";
import { CreateInvitation, type InvitationWithRoles } from "../../invitations/model.ts";
import { type NameNeeds, nameIn, namesOf } from "../../names.ts";
import { authorize } from "../../policy/authorize.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { ofAccount } from "./account-frame.ts";
import { more, ROLES_IN_WORDS, roleOptions, table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { copied, keepOnce, ONCE_SECONDS, onceBox, takeOnce } from "./once.ts";
import { inRealm, mayIn } from "./realm-frame.ts";

/** Dependencies of the pages of invitations. */
export type InvitationPageNeeds = InvitationNeeds & NameNeeds & AskAgainNeeds & { address(): string };

const PAGE = 100;
const INVITE = /^\/console\/realms\/([^/]+)\/invite$/;
const LIST = /^\/console\/invitations$/;

/** Inviting somebody into a realm, and the invitations that nobody has used yet. */
export function invitationPages(needs: InvitationPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: INVITE, answer: (visit) => invite(needs, visit) },
		{ method: "POST", path: INVITE, answer: (visit) => create(needs, visit) },
		{ method: "GET", path: LIST, answer: (visit) => list(needs, visit) },
		{ method: "POST", path: LIST, answer: (visit) => end(needs, visit) },
	];
}

const targetFor = (slug: string) => `invitation ${slug}`;

async function invite(needs: InvitationPageNeeds, visit: Visit): Promise<Page> {
	const [slug = ""] = visit.params;
	await authorize(needs, visit.actor, slug, { capability: "policy:manage", scope: "any" });
	const text = takeOnce(visit, needs.system, targetFor(slug));
	const may = await mayIn(needs, visit.actor, slug);
	return {
		...inRealm(slug, "Members", may),
		title: `Invite somebody into ${slug}`,
		...(text === undefined ? {} : { refresh: ONCE_SECONDS }),
		body: html`${text === undefined ? form(slug, visit.token) : passingOn(slug, text, needs.address())}<p><a href="/console/invitations">Open invitations</a></p>`,
		commands:
			text === undefined
				? [command`svc invite bob@example.com --realm ${slug} --role member`]
				: [command`svc register --invite`],
	};
}

/** Shows a message with the link and the code, ready to be sent. @param kept the code and the e-mail that it is for, a line each */
function passingOn(slug: string, kept: string, base: string): Html {
	const [code = "", email = ""] = kept.split("\n");
	// What follows # stays in the browser: no server and no proxy logs it.
	const link = `${base}/console/register#${new URLSearchParams({ email, invitation: code })}`;
	const message = `You are invited to the realm ${slug} of our secrets server.

Make your account within 7 days:
${link}

If the page asks for the code of your invitation: ${code}
Your e-mail there must be ${email}.`;
	const more = html`<p>The link alone</p>${copied("link", link, "Copy the link")}<p>The code alone, which works with this e-mail only</p>${copied("code", code, "Copy the code")}`;
	const note =
		"Send it only to the person you invited. An account that they make without the code has none of the roles, and the invitation no longer works: give the roles on the page Members then.";
	return onceBox(`Message to ${email}`, message, note, more);
}

function form(slug: string, token: Html): Html {
	return html`<p>Invite somebody who has no account yet. The server sends no message: you get a link to send.</p>
<form method="post" action="/console/realms/${slug}/invite">${token}
<label for="email">E-mail of the new account</label><input id="email" name="email" type="email" required autocomplete="off">
<label for="role">Role in ${slug}</label><select id="role" name="role">${roleOptions()}</select>${ROLES_IN_WORDS}
<p><button>Invite</button></p></form>`;
}

async function create(needs: InvitationPageNeeds, visit: Visit): Promise<Moved> {
	const [slug = ""] = visit.params;
	const to = address`/console/realms/${slug}/invite`;
	const asked = await askAgain(needs, visit, to);
	if (asked !== undefined) return asked;
	const { email, role } = visit.form;
	const input = check(CreateInvitation, { email, bindings: [{ realm: slug, role }] });
	const { code } = await createInvitation(needs, visit.actor, { email: input.email, bindings: input.bindings ?? [] });
	keepOnce(visit.notes, needs.system, targetFor(slug), `${code}\n${input.email}`);
	return { to, message: `${input.email} is invited.` };
}

async function list(needs: InvitationPageNeeds, { actor, query, token }: Visit): Promise<Page> {
	const { rows, pagination } = await listInvitations(needs, actor, { limit: PAGE, cursor: query.cursor });
	const people = await namesOf(
		needs,
		rows.map(({ created_by }) => created_by),
	);
	const lines = rows.map((row) => line(row, nameIn(people, row.created_by), token));
	const whose = actor.instance_admin ? "Everybody's" : "Yours";
	return {
		...ofAccount("Open invitations"),
		title: "Open invitations",
		body: html`${rows.length === 0 ? html`<p>No open invitations.</p>` : table(`${whose}, without their codes`, ["E-mail", "Roles", "By", "Ends", "End it"], lines)}${more(pagination, (cursor) => address`/console/invitations?cursor=${cursor}`)}`,
		commands: [command`svc invitation list`, command`svc invitation delete INVITATION-ID`],
	};
}

function line({ id, email, bindings, expires_at }: InvitationWithRoles, by: string, token: Html): Html {
	const roles = bindings.map(({ realm, role }) => `${role} in ${realm}`).join(", ");
	return html`<tr><th scope="row">${email}</th><td data-label="Roles">${roles === "" ? "none" : roles}</td><td data-label="By">${by}</td><td data-label="Ends">${time(expires_at)}</td><td><form method="post" action="/console/invitations">${token}<input type="hidden" name="id" value="${id}"><button aria-label="End the invitation of ${email}">End</button></form></td></tr>`;
}

async function end(needs: InvitationPageNeeds, visit: Visit): Promise<Moved> {
	await deleteInvitation(needs, visit.actor, fieldOf(visit, "id"));
	return { to: address`/console/invitations`, message: "The invitation has ended: its code no longer works." };
}
