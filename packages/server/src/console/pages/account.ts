import { hasExpired } from "../../expiry.ts";
import { isEnded } from "../../factors/decide.ts";
import { type FactorNeeds, listFactors } from "../../factors/factors.ts";
import type { Actor } from "../../policy/model.ts";
import type { RealmNeeds } from "../../realms/realms.ts";
import type { QuestionNeeds } from "../../semaphore.ts";
import type { ApiToken } from "../../tokens/model.ts";
import { listTokens, revokeToken, type TokenNeeds } from "../../tokens/tokens.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { ofAccount } from "./account-frame.ts";
import { more, table, time } from "./components.ts";

/** Dependencies of the page of one's own account. */
export type AccountPageNeeds = TokenNeeds & RealmNeeds & QuestionNeeds & FactorNeeds;

const PAGE = 100;
const PATH = /^\/console\/account$/;

/** The caller's own account: its API tokens, and how to end each. */
export function accountPage(needs: AccountPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => account(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => end(needs, visit) },
	];
}

async function account(needs: AccountPageNeeds, { actor, query, token }: Visit): Promise<Page> {
	const { rows, pagination } = await listTokens(needs, actor, { limit: PAGE, cursor: query.cursor });
	const slugs = await slugsOf(needs, actor, rows);
	const lines = rows.map((row) => line(row, slugs, needs.system.now().toISOString(), token));
	const list =
		rows.length === 0
			? html`<p>You have no API token. A token lets a program do what you may, or a part of it.</p>`
			: table(
					"Programs with a token of yours",
					["Name", "Begins with", "May", "Limits", "Last used", "Ends", "End it"],
					lines,
				);
	const { factors } = await listFactors(needs, actor);
	const copied = factors.filter(isEnded).map(({ name }) => copiedPasskey(name ?? ""));
	const admin = actor.instance_admin ? html`<p>You administer this server.</p>` : "";
	return {
		title: "Your account",
		...ofAccount("API tokens"),
		body: html`<p>${actor.name}, ${actor.email} · <a href="/console/audit?actor=${actor.email}">What you did</a></p>${admin}${copied}<h2>API tokens</h2><p><a href="/console/account/token">Make a token</a></p>${list}${more(pagination, (cursor) => address`/console/account?cursor=${cursor}`)}
<h2>Signing out</h2><p>Signing out ends this session. A new password ends all other sessions.</p>`,
		commands: [
			command`svc whoami`,
			command`svc token list`,
			command`svc token create NAME --scopes read`,
			command`svc token revoke TOKEN-NAME`,
		],
	};
}

/** Warns the owner of a passkey that a copy of it exists. */
function copiedPasskey(name: string): Html {
	return html`<p class="error" role="alert">A copy of your passkey ${name} was used, so it no longer signs you in. Check <a href="/console/account/sessions">where you are signed in</a>, then <a href="/console/account/factors">remove it</a>.</p>`;
}

function line(
	{ id, name, prefix, scopes, expires_at, last_used_at, ...limits }: ApiToken,
	slugs: Slugs,
	now: string,
	token: Html,
): Html {
	const ended = hasExpired(expires_at, now) ? html` <span class="warn">has ended</span>` : "";
	const ends = expires_at === null ? "never" : html`${time(expires_at)}${ended}`;
	const button = html`<form method="post" action="/console/account">${token}<input type="hidden" name="id" value="${id}"><button aria-label="End the token ${name}">End</button></form>`;
	return html`<tr><th scope="row">${name}</th><td data-label="Begins with" class="key">${prefix}</td><td data-label="May">${scopes.replaceAll(",", ", ")}</td><td data-label="Limits">${limitsOf(limits, slugs)}</td><td data-label="Last used">${last_used_at === null ? "never" : html`<a href="/console/audit?token=${id}" aria-label="What the token ${name} did">${time(last_used_at)}</a>`}</td><td data-label="Ends">${ends}</td><td>${button}</td></tr>`;
}

/** Slugs of realms by their ids. */
type Slugs = ReadonlyMap<string, string>;

/** Finds the slugs of the realms that tokens are limited to, as far as the caller is in them. */
async function slugsOf({ store }: AccountPageNeeds, actor: Actor, rows: readonly ApiToken[]): Promise<Slugs> {
	const slugs = new Map<string, string>();
	for (const id of new Set(rows.map(({ realm_id }) => realm_id))) {
		const [realm] = id === null ? [] : await store.realms.list(actor.user_id, id, "", 1);
		if (realm !== undefined) slugs.set(realm.id, realm.slug);
	}
	return slugs;
}

type Limits = Pick<ApiToken, "realm_id" | "environment" | "engines">;

function limitsOf({ realm_id, environment, engines }: Limits, slugs: Slugs): string {
	const roles = engines === null ? [] : (JSON.parse(engines) as string[]);
	const slug = realm_id === null ? undefined : slugs.get(realm_id);
	const realm = slug === undefined ? "a realm that is gone, or that you left" : `realm ${slug}`;
	const limits = [realm_id === null ? [] : [realm], environment === null ? [] : [environment], roles].flat();
	return limits.length === 0 ? "none" : limits.join(", ");
}

async function end(needs: AccountPageNeeds, visit: Visit): Promise<Moved> {
	await revokeToken(needs, visit.actor, fieldOf(visit, "id"));
	return { to: address`/console/account`, message: "The token has ended, and so have those that it made." };
}
