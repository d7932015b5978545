import { AskedAgain } from "../../factors/model.ts";
import { confirmedFactors } from "../../factors/use.ts";
import { check } from "../../http/input.ts";
import { type LinkNeeds, listIdentities, unlinkIdentity } from "../../sso/links.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { table, time } from "./parts.ts";

/** Dependencies of the page of linked identities. */
export type IdentityPageNeeds = LinkNeeds;

const PATH = /^\/console\/account\/identities$/;

/** The identities that sign in to the caller's account, and how to unlink one. */
export function identitiesPage(needs: IdentityPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => identities(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => unlink(needs, visit) },
	];
}

async function identities(needs: IdentityPageNeeds, { actor, token }: Visit): Promise<Page> {
	const { identities: rows, has_password } = await listIdentities(needs, actor);
	const isAsked = has_password && (await confirmedFactors(needs, actor.user_id)).length > 0;
	const lines = rows.map(
		({ id, provider, issuer, subject, created_at }) =>
			html`<tr><th scope="row">${provider}</th><td data-label="Issuer">${issuer}</td><td data-label="Subject">${subject}</td><td data-label="Since">${time(created_at)}</td><td>${unlinking(id, provider, { has_password, isAsked }, token)}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>None is linked.</p>`
			: table("Identities that sign in to your account", ["Provider", "Issuer", "Subject", "Since", "Unlink"], lines);
	return {
		title: "How you sign in",
		above: [
			["Realms", address`/console`],
			["Your account", address`/console/account`],
		],
		body: html`<p>${has_password ? "You have a password." : "You have no password: you sign in at a provider."}</p><h2>Linked identities</h2>${list}`,
		commands: [
			command`svc account identities`,
			command`svc account link corp`,
			command`svc account unlink IDENTITY-ID`,
			command`svc password`,
		],
	};
}

/** Proof that unlinking asks for: the account's password, and a code of its second factor. */
interface AskedFor {
	has_password: boolean;
	isAsked: boolean;
}

function unlinking(id: string, provider: string, { has_password, isAsked }: AskedFor, token: Html): Html {
	const code = isAsked
		? html`<input name="code" aria-label="Code of your app, or a recovery code, to unlink ${provider}" placeholder="Code" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" autocapitalize="off" required>`
		: "";
	const proof = has_password
		? html`<input type="password" name="current_password" aria-label="Your password, to unlink ${provider}" autocomplete="current-password" required>`
		: "";
	return html`<form method="post" action="/console/account/identities" class="row">${token}<input type="hidden" name="id" value="${id}">${proof}${code}<button aria-label="Unlink ${provider}">Unlink</button></form>`;
}

async function unlink(needs: IdentityPageNeeds, visit: Visit): Promise<Moved> {
	const { current_password, code } = visit.form;
	const asked = check(AskedAgain, { current_password: current_password || undefined, code: code || undefined });
	await unlinkIdentity(needs, visit.actor, fieldOf(visit, "id"), asked);
	return { to: address`/console/account/identities`, message: "It does not sign in to your account any more." };
}
