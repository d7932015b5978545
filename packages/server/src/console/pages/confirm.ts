import { type OwnerNeeds, proveOwner } from "../../factors/owner.ts";
import { type Address, address, addressOf, html, targetOf } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";

/** Dependencies of the page. */
export type ConfirmNeeds = OwnerNeeds;

/** Dependencies of the pages that it is asked for. */
export interface AskAgainNeeds {
	store: { accounts: Pick<OwnerNeeds["store"]["accounts"], "session"> };
	system: Pick<OwnerNeeds["system"], "now">;
}

/** Milliseconds for which a sign-in, or the password given again, is enough. Design: §16 */
const RECENT_MS = 5 * 60_000;
const PATH = /^\/console\/confirm$/;

/** The page that asks again who somebody is: a stolen or forgotten window shows no value of prod and gives no right. */
export function confirmPage(needs: ConfirmNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => ask(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => confirm(needs, visit) },
	];
}

/**
 * Leads to the page that asks again, unless the session began, or its owner was asked, within 5 minutes.
 * @param to the page to come back to
 * @returns undefined when nothing need be asked
 */
export async function askAgain(
	{ store, system }: AskAgainNeeds,
	{ actor, notes }: Pick<Visit, "actor" | "notes">,
	to: Address,
): Promise<Moved | undefined> {
	const since = system.now().getTime() - RECENT_MS;
	if ((notes.confirmed_at ?? 0) > since) return undefined;
	const session = await store.accounts.session(actor.jti ?? "");
	if (session !== undefined && Date.parse(session.created_at) > since) return undefined;
	return { to: address`/console/confirm?target=${targetOf(to)}` };
}

async function ask({ store }: ConfirmNeeds, { actor, query, token }: Visit): Promise<Page> {
	const target = targetOf(addressOf(query.target));
	const account = await store.accounts.byId(actor.user_id);
	const form =
		account?.password === null
			? html`<p>Your account has no password: <a href="/console/sign-in?target=${target}">sign in again</a>, then repeat what you did.</p>`
			: html`<form method="post" action="/console/confirm">${token}<input type="hidden" name="target" value="${target}">
<input type="hidden" name="username" autocomplete="username" value="${actor.email}">
<label for="password">Password of your account</label><input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<p><button>Confirm</button></p></form>`;
	return {
		title: "Is it you?",
		above: [["Realms", address`/console`]],
		body: html`<p>What you are about to do shows a value of prod, gives somebody access or changes how the server works. You signed in more than 5 minutes ago, so confirm that it is you.</p>${form}`,
	};
}

async function confirm(needs: ConfirmNeeds, { actor, form, notes }: Visit): Promise<Moved> {
	await proveOwner(needs, actor, form.password || undefined, "confirm that it is you");
	notes.confirmed_at = needs.system.now().getTime();
	return { to: addressOf(form.target), message: "Confirmed for 5 minutes. Now repeat what you did." };
}
