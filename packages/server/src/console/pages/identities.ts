import { type AccountNeeds, changePassword } from "../../accounts/accounts.ts";
import { ChangePassword } from "../../accounts/model.ts";
import { AskedAgain } from "../../factors/model.ts";
import { confirmedFactors } from "../../factors/use.ts";
import { check } from "../../http/input.ts";
import { type LinkNeeds, listIdentities, unlinkIdentity } from "../../sso/links.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { type PasskeyPageNeeds, signedIn } from "../passkey.ts";
import { Misfilled } from "../refused-form.ts";
import { ofAccount } from "./account-frame.ts";
import { table, time } from "./components.ts";
import { askAgain } from "./confirm.ts";
import { holderOf, inPlaceOfCode } from "./passkeys.ts";

/** Dependencies of the page of linked identities. */
export type IdentityPageNeeds = LinkNeeds & AccountNeeds & PasskeyPageNeeds;

const PATH = /^\/console\/account\/identities$/;

/** The password and the identities that sign in to the caller's account: how to change the one, and to unlink one of the others. */
export function identitiesPage(needs: IdentityPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => identities(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => change(needs, visit) },
	];
}

async function identities(needs: IdentityPageNeeds, visit: Visit): Promise<Page> {
	const { actor, token } = visit;
	const { identities: rows, has_password } = await listIdentities(needs, actor);
	const factors = has_password ? await confirmedFactors(needs, actor.user_id) : [];
	const asked = { has_password, isAsked: factors.length > 0, passkey: inPlaceOfCode(needs, visit, factors) };
	const lines = rows.map(
		({ id, provider, issuer, subject, created_at }) =>
			html`<tr><th scope="row">${provider}</th><td data-label="Issuer">${issuer}</td><td data-label="Subject">${subject}</td><td data-label="Since">${time(created_at)}</td><td>${unlinking(id, provider, asked, token)}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>None is linked. To sign in at a provider with this account, link it in a terminal: <code>svc account link</code>.</p>`
			: table("Identities that sign in to your account", ["Provider", "Issuer", "Subject", "Since", "Unlink"], lines);
	return {
		title: "How you sign in",
		...ofAccount("Password and linked identities"),
		body: html`${has_password ? newPassword(asked, actor.email, token) : html`<p>You have no password: you sign in at a provider.</p>`}<h2>Linked identities</h2>${list}`,
		commands: [
			command`svc account identities`,
			command`svc account link corp`,
			command`svc account unlink IDENTITY-ID`,
			command`svc password`,
		],
	};
}

/** Proof that a change asks for: the account's password, and a code of its second factor, or a passkey in its place. */
interface AskedFor {
	has_password: boolean;
	isAsked: boolean;
	passkey: Html | string;
}

function newPassword({ isAsked, passkey }: AskedFor, email: string, token: Html): Html {
	const code = isAsked
		? html`<label for="code">Code of your app, or a recovery code</label><input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" autocapitalize="off" required>${passkey}`
		: "";
	return html`<h2>Change your password</h2><p>This ends your other sessions. API tokens and linked identities stay.</p>
<form method="post" action="/console/account/identities">${token}<input type="hidden" name="action" value="password"><input type="hidden" name="username" autocomplete="username" value="${email}">
<label for="current">Current password</label><input id="current" name="current_password" type="password" autocomplete="current-password" required>
<label for="new">New password, of 12 characters or more</label><input id="new" name="new_password" type="password" autocomplete="new-password" required>
<label for="again">The same password again</label><input id="again" name="again" type="password" autocomplete="new-password" required>${code}
<p><button>Change the password</button></p></form>`;
}

function unlinking(id: string, provider: string, { has_password, isAsked, passkey }: AskedFor, token: Html): Html {
	const code = isAsked
		? html`<input name="code" aria-label="Code of your app, or a recovery code, to unlink ${provider}" placeholder="Code" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" autocapitalize="off" required>${passkey}`
		: "";
	const proof = has_password
		? html`<input type="password" name="current_password" aria-label="Your password, to unlink ${provider}" autocomplete="current-password" required>`
		: "";
	return html`<form method="post" action="/console/account/identities" class="row">${token}<input type="hidden" name="id" value="${id}">${proof}${code}<button aria-label="Unlink ${provider}">Unlink</button></form>`;
}

async function change(needs: IdentityPageNeeds, visit: Visit): Promise<Moved> {
	const { actor, form } = visit;
	const to = address`/console/account/identities`;
	const typed = { current_password: form.current_password || undefined, code: form.code || undefined };
	const passkey = () => signedIn(needs, form, holderOf(visit));
	if (form.action === "password") {
		if (form.new_password !== form.again) throw new Misfilled("again", "the two passwords differ");
		const given = check(ChangePassword, { ...typed, new_password: form.new_password });
		await changePassword(needs, actor, { ...given, passkey: passkey() });
		return { to, message: "The password is changed, and your other sessions have ended." };
	}
	const { has_password } = await listIdentities(needs, actor);
	const confirming = has_password ? undefined : await askAgain(needs, visit, to);
	if (confirming !== undefined) return confirming;
	const asked = check(AskedAgain, typed);
	await unlinkIdentity(needs, actor, fieldOf(visit, "id"), { ...asked, passkey: passkey() });
	return { to, message: "This identity can no longer sign in to your account." };
}
