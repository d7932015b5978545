import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import { nameIn, namesOf } from "../../names.ts";
import { type Binding, ChangeBinding, CreateBinding, ROLES } from "../../policy/model.ts";
import { changeBinding, createBinding, deleteBinding, listBindings, type PolicyNeeds } from "../../policy/policy.ts";
import { getRealm, type RealmNeeds } from "../../realms/realms.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { Misfilled } from "../refused-form.ts";
import { more, ROLES_IN_WORDS, roleOptions, table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { explainForm } from "./explain.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { rightsOf } from "./rights.ts";

/** Dependencies of the page of a realm's members. */
export type MemberPageNeeds = PolicyNeeds & RealmNeeds & AskAgainNeeds;

const PAGE = 100;
const PATH = /^\/console\/realms\/([^/]+)\/members$/;

/** A realm's members and their roles. */
export function membersPage(needs: MemberPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => members(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
	];
}

async function members(needs: MemberPageNeeds, { actor, params: [slug = ""], query, token }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const { user_id: owner } = await getRealm(needs, actor, slug);
	const { rows, pagination } = await listBindings(needs, actor, slug, { limit: PAGE, cursor: query.cursor });
	const people = await namesOf(needs, [owner, ...rows.map(({ user_id }) => user_id)]);
	const nameOf = (id: string) => nameIn(people, id);
	const mayManage = may("policy:manage");
	const first = html`<tr><th scope="row">${nameOf(owner)}</th><td data-label="Role">admin (owns the realm)</td><td></td>${mayManage ? html`<td></td>` : ""}</tr>`;
	const lines = rows.map((row) => line(slug, row, nameOf(row.user_id), mayManage ? token : undefined));
	return {
		...inRealm(slug, "Members", may),
		title: `Members of ${slug}`,
		body: html`${table("People and their roles", ["Person", "Role", "Since", ...(mayManage ? ["Change"] : [])], [first, ...lines])}${more(pagination, (cursor) => address`/console/realms/${slug}/members?cursor=${cursor}`)}
${mayManage ? adding(slug, token) : html`<p class="quiet">An admin of the realm gives and changes roles.</p>`}<h2>Why may somebody do something, or not?</h2>${explainForm(slug, "", undefined, mayManage)}${roles()}`,
		commands: [command`svc binding list --realm ${slug}`, command`svc policy explain --realm ${slug}`],
	};
}

function line(slug: string, { user_id, role, created_at }: Binding, name: string, token: Html | undefined): Html {
	return html`<tr><th scope="row">${name}</th><td data-label="Role">${role}</td><td data-label="Since">${time(created_at)}</td>${token === undefined ? "" : html`<td>${changing(slug, { user_id, role }, name, token)}</td>`}</tr>`;
}

function changing(slug: string, { user_id, role }: Pick<Binding, "user_id" | "role">, name: string, token: Html): Html {
	const start = html`${token}<input type="hidden" name="user_id" value="${user_id}">`;
	return html`<div class="row"><form method="post" action="/console/realms/${slug}/members">${start}<input type="hidden" name="action" value="change"><select name="role" aria-label="New role of ${name}">${roleOptions(role)}</select> <button aria-label="Change the role of ${name}">Change</button></form>
<form method="post" action="/console/realms/${slug}/members">${start}<input type="hidden" name="action" value="remove"><button aria-label="Remove ${name}">Remove</button></form></div>`;
}

function adding(slug: string, token: Html): Html {
	return html`<h2>Give somebody a role</h2><form method="post" action="/console/realms/${slug}/members" class="row">${token}<input type="hidden" name="action" value="add">
<p><label for="email">E-mail of the account</label><input id="email" name="email" type="email" required autocomplete="off"></p>
<p><label for="role">Role</label><select id="role" name="role">${roleOptions()}</select></p><p><button>Give the role</button> <button formaction="/console/realms/${slug}/invite">Invite</button></p></form>${ROLES_IN_WORDS}<p class="quiet">Somebody who has no account yet needs an invitation: you get a link to send to them. <a href="/console/invitations">Open invitations</a></p>`;
}

function roles(): Html {
	const items = Object.entries(ROLES).map(([role, may]) => html`<li><strong>${role}</strong>: ${rightsOf(may)}</li>`);
	return html`<h2>What each role may do</h2><ul>${items}</ul>`;
}

/** Replaces the error for an e-mail without an account with one that says what to do. */
function suggestInvitation(error: unknown): never {
	if (error instanceof AppError && error.code === "not_found" && error.message.startsWith("user not found"))
		throw new Misfilled("email", "no account has this e-mail: invite its owner, with the button Invite", "not_found");
	throw error;
}

async function act(needs: MemberPageNeeds, visit: Visit): Promise<Moved> {
	const { actor, params, form } = visit;
	const [slug = ""] = params;
	const to = address`/console/realms/${slug}/members`;
	const action = fieldOf(visit, "action");
	const asked = action === "remove" ? undefined : await askAgain(needs, visit, to);
	if (asked !== undefined) return asked;
	switch (action) {
		case "add":
			await createBinding(
				needs,
				actor,
				slug,
				check(CreateBinding, { email: fieldOf(visit, "email"), role: form.role }),
			).catch(suggestInvitation);
			return { to, message: "The role is given. It takes effect immediately." };
		case "change": {
			const { role } = check(ChangeBinding, { role: form.role });
			await changeBinding(needs, actor, slug, fieldOf(visit, "user_id"), role);
			return { to, message: "The role is changed. It takes effect immediately." };
		}
		case "remove":
			await deleteBinding(needs, actor, slug, fieldOf(visit, "user_id"));
			return { to, message: "The role is removed. It takes effect immediately." };
		default:
			throw new AppError("bad_request", "action must be add, change or remove");
	}
}
