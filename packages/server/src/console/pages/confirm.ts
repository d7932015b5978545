import { AppError } from "../../errors.ts";
import { isConfirmed, type OwnerNeeds, proveOwner, RECENT_MS } from "../../factors/owner.ts";
import { check } from "../../http/input.ts";
import type { BeginNeeds } from "../../sso/login.ts";
import { DirectoryCredentials } from "../../sso/model.ts";
import { listProviders } from "../../sso/providers.ts";
import {
	beginReauthentication,
	confirmWithDirectory,
	endReauthentication,
	type ReauthenticationNeeds,
} from "../../sso/reauthentication.ts";
import { type Address, address, addressOf, type Html, html, targetOf } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";

/** Dependencies of the page. */
export type ConfirmNeeds = OwnerNeeds & BeginNeeds & ReauthenticationNeeds;

/** Dependencies of the pages that it is asked for. */
export interface AskAgainNeeds {
	store: { accounts: Pick<OwnerNeeds["store"]["accounts"], "session"> };
	system: Pick<OwnerNeeds["system"], "now">;
}

const PATH = /^\/console\/confirm$/;
/** Path to which a provider's answer leads in the end. */
const RETURN = "/console/confirm/provider";

/** The page that asks again who somebody is: a stolen or forgotten window shows no value of prod and gives no right. */
export function confirmPage(needs: ConfirmNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => ask(needs, visit, visit.query.target) },
		{ method: "POST", path: PATH, answer: (visit) => confirm(needs, visit) },
		{ method: "GET", path: /^\/console\/confirm\/provider$/, answer: (visit) => comeBack(needs, visit) },
	];
}

/**
 * Leads to the page that asks again, unless the session's owner gave a password, or signed in at a provider that says so, within 5 minutes.
 * @param to the page to come back to
 * @returns undefined when nothing need be asked
 */
export async function askAgain(
	{ store, system }: AskAgainNeeds,
	{ actor }: Pick<Visit, "actor">,
	to: Address,
): Promise<Moved | undefined> {
	const now = system.now();
	if (isConfirmed(actor, now)) return undefined;
	const session = await store.accounts.session(actor.jti ?? "");
	// A provider may let a browser through that it knows: the age of its session shows nothing.
	if (session?.provider === "" && Date.parse(session.created_at) > now.getTime() - RECENT_MS) return undefined;
	return { to: address`/console/confirm?target=${targetOf(to)}` };
}

/** Shows the page. @param refused the last attempt */
async function ask(
	needs: ConfirmNeeds,
	visit: Visit,
	target: string | undefined,
	refused?: Pick<AppError, "status" | "message">,
): Promise<Page> {
	const to = targetOf(addressOf(target));
	const account = await needs.store.accounts.byId(visit.actor.user_id);
	const problem = refused === undefined ? "" : html`<p class="error" role="alert">${refused.message}</p>`;
	return {
		title: "Is it you?",
		status: refused?.status ?? 200,
		body: html`${problem}<p>What you are about to do shows a value of prod, gives somebody access or changes how the server works. Confirm that it is you: nothing has shown that within the last 5 minutes.</p>${account?.password === null ? await atProviders(needs, visit, to) : withPassword(visit, to)}`,
	};
}

function withPassword({ actor, token }: Visit, target: string): Html {
	return html`<form method="post" action="/console/confirm">${token}<input type="hidden" name="target" value="${target}">
<input type="hidden" name="username" autocomplete="username" value="${actor.email}">
<label for="password">Password of your account</label><input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<p><button>Confirm</button></p></form>`;
}

type Provider = Awaited<ReturnType<typeof listProviders>>[number];

/** Finds the providers at which the caller signs in. */
async function providersOf({ store }: ConfirmNeeds, { actor }: Visit): Promise<Provider[]> {
	const identities = await store.sso.identitiesOf(actor.user_id);
	return (await listProviders({ store })).filter(({ name }) => identities.some(({ provider }) => provider === name));
}

async function atProviders(needs: ConfirmNeeds, visit: Visit, target: string): Promise<Html> {
	const providers = await providersOf(needs, visit);
	if (providers.length === 0)
		return html`<p>The provider that you signed in at is gone: <a href="/console/sign-in?target=${target}">sign in again</a>, then repeat what you did.</p>`;
	const forms = providers.map(({ name, type, display_name }) => {
		const fields = html`${visit.token}<input type="hidden" name="target" value="${target}"><input type="hidden" name="provider" value="${name}">`;
		const credentials = type === "ldap" ? directoryFields(name) : "";
		return html`<form method="post" action="/console/confirm" aria-label="With ${display_name}">${fields}${credentials}<p><button>Confirm with ${display_name}</button></p></form>`;
	});
	return html`<p>Your account has no password: you sign in again where you signed in before.</p>${forms}`;
}

function directoryFields(name: string): Html {
	return html`<label for="username-${name}">User name</label><input id="username-${name}" name="username" type="text" autocomplete="username" spellcheck="false" required>
<label for="password-${name}">Password</label><input id="password-${name}" name="password" type="password" autocomplete="current-password" required>`;
}

async function confirm(needs: ConfirmNeeds, visit: Visit): Promise<Moved | Page> {
	const { actor, form } = visit;
	const account = await needs.store.accounts.byId(actor.user_id);
	if (account?.password === null) {
		const name = fieldOf(visit, "provider");
		return unlessRefused(needs, visit, form.target, () => confirmAtProvider(needs, visit, name));
	}
	return unlessRefused(needs, visit, form.target, async () => {
		await proveOwner(needs, actor, form.password || undefined, "confirm that it is you");
		return confirmed(needs, visit, form.target);
	});
}

function confirmed({ system }: ConfirmNeeds, { notes }: Visit, target: string | undefined): Moved {
	notes.confirmed_at = system.now().getTime();
	return { to: addressOf(target), message: "Confirmed for 5 minutes. Now repeat what you did." };
}

/** Asks again on the same page after a refusal. @throws the error when it is the server's */
async function unlessRefused<Result>(
	needs: ConfirmNeeds,
	visit: Visit,
	target: string | undefined,
	attempt: () => Promise<Result>,
): Promise<Result | Page> {
	try {
		return await attempt();
	} catch (error) {
		if (!(error instanceof AppError) || (error.status >= 500 && error.code !== "provider_unavailable")) throw error;
		return ask(needs, visit, target, error);
	}
}

async function confirmAtProvider(needs: ConfirmNeeds, visit: Visit, name: string): Promise<Moved | Page> {
	const { actor, form } = visit;
	const provider = (await providersOf(needs, visit)).find((one) => one.name === name);
	if (provider === undefined) throw new AppError("not_found", "you do not sign in at this provider: use one of these");
	const { type, display_name } = provider;
	if (type === "ldap") {
		const { username, password } = form;
		await confirmWithDirectory(needs, actor, name, check(DirectoryCredentials, { username, password }));
		return confirmed(needs, visit, form.target);
	}
	const back = { address: RETURN, target: targetOf(addressOf(form.target)) };
	const { location, cookie } = await beginReauthentication(needs, actor, type, name, back);
	if (location.startsWith(`${RETURN}?`)) return { to: addressOf(location) };
	return {
		title: "One moment",
		body: html`<p>You go on to ${display_name}, where you sign in again. Then you come back by yourself.</p>`,
		away: location,
		cookies: [cookie],
	};
}

/** Texts for the codes of an address: any page can send a browser here, so an address says no more than its code. */
const REFUSALS: Partial<Record<string, { status: 403 | 429 | 503; message: string }>> = {
	forbidden: {
		status: 403,
		message: "the provider does not say that you signed in there again just now, and an earlier sign-in is not enough",
	},
	provider_unavailable: { status: 503, message: "the identity provider is unavailable: try again later" },
	rate_limited: { status: 429, message: "too many logins from here were refused: try again in a minute" },
};
const REFUSED = { status: 401, message: "the sign-in was refused: try again; the audit log has the reason" } as const;

function comeBack(needs: ConfirmNeeds, visit: Visit): Promise<Moved | Page> {
	const { actor, query } = visit;
	const { code, error = "", target } = query;
	if (code === undefined) return ask(needs, visit, target, REFUSALS[error] ?? REFUSED);
	return unlessRefused(needs, visit, undefined, async () =>
		confirmed(needs, visit, await endReauthentication(needs, actor, code)),
	);
}
