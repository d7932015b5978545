import { type EngineNeeds, listRoles } from "../../engines/engines.ts";
import { check } from "../../http/input.ts";
import type { Actor } from "../../policy/model.ts";
import { listRealms, type RealmNeeds } from "../../realms/realms.ts";
import { keysOf } from "../../semaphore.ts";
import { CreateToken } from "../../tokens/model.ts";
import { createToken, type TokenNeeds } from "../../tokens/tokens.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { LargePageNeeds } from "../large-pages.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { ofAccount } from "./account-frame.ts";
import { engineBoxes, enginesIn, scopeBoxes, scopesIn } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { keepOnce, ONCE_SECONDS, onceBox, takeOnce } from "./once.ts";
import { COLUMNS } from "./secrets.ts";

/** Dependencies of the page that makes an API token. */
export type NewTokenNeeds = TokenNeeds & RealmNeeds & AskAgainNeeds & LargePageNeeds & Pick<EngineNeeds, "catalog">;

/** Realms to choose from; a token for another one is made with `svc`. */
const MAX_REALMS = 1000;

const DAYS = [7, 30, 90, 365];
const DAY_MS = 24 * 60 * 60 * 1000;
const TARGET = "token";
const PATH = /^\/console\/account\/token$/;

/** Making an API token, which is shown once. */
export function newTokenPage(needs: NewTokenNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => newToken(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => create(needs, visit) },
	];
}

async function newToken(needs: NewTokenNeeds, visit: Visit): Promise<Page> {
	const text = takeOnce(visit, needs.system, TARGET);
	const page = {
		title: "New API token",
		...ofAccount("API tokens"),
		commands: [command`svc token create NAME --scopes read --realm shop --env prod --ttl 90d`],
	} satisfies Partial<Page>;
	if (text !== undefined) {
		const note = "A program finds it in the variable SVC_TOKEN, or in the file that SVC_TOKEN_FILE names.";
		return {
			...page,
			refresh: ONCE_SECONDS,
			body: html`${onceBox("Your token", text, note)}<p><a href="/console/account">Your tokens</a></p>`,
		};
	}
	return { ...page, body: form(visit.token, await realmsOf(needs, visit.actor), listRoles(needs)) };
}

/** Names the realms to choose from, reading a page in each step. */
async function realmsOf(needs: NewTokenNeeds, actor: Actor): Promise<string[]> {
	const slugs: string[] = [];
	let cursor: string | undefined;
	do {
		const page = { limit: 100, cursor };
		const { rows, pagination } = await needs.scheduler.step(keysOf(actor), () => listRealms(needs, actor, page));
		slugs.push(...rows.map(({ slug }) => slug));
		cursor = pagination.next_cursor;
	} while (cursor !== undefined && slugs.length < MAX_REALMS);
	return slugs;
}

function form(token: Html, realms: readonly string[], roles: readonly string[]): Html {
	const option = (value: string, label = value) => html`<option value="${value}">${label}</option>`;
	return html`<p>A program with the token may do what you may, or the part of it that you choose here. A token never has more rights than you: when you lose a role, so does the token.</p>
<form method="post" action="/console/account/token">${token}
<label for="name">Name, to know it again</label><input id="name" name="name" type="text" required autocomplete="off" aria-describedby="twice"><p class="quiet about" id="twice">Two tokens may have one name: their beginnings, in the list, tell them apart.</p>
${scopeBoxes()}
<label for="realm">Only in the realm</label><select id="realm" name="realm">${[option("", "any of yours"), ...realms.map((slug) => option(slug))]}</select>
<label for="environment">Only the secrets of</label><select id="environment" name="environment">${[option("", "any environment, and everything else that you may do"), ...COLUMNS.map((one) => option(one))]}</select>
${engineBoxes(roles)}
<label for="days">It ends after</label><select id="days" name="days">${[...DAYS.map((days) => option(String(days), `${days} days`)), option("", "never, until somebody ends it")]}</select>
<p><button>Make the token</button></p></form>`;
}

async function create(needs: NewTokenNeeds, visit: Visit): Promise<Moved> {
	const { actor, form, notes } = visit;
	const to = address`/console/account/token`;
	const asked = await askAgain(needs, visit, to);
	if (asked !== undefined) return asked;
	const { name = "", realm = "", environment = "", days = "" } = form;
	const life_ms = Math.min(Number(days), 3650) * DAY_MS;
	const ends = days === "" ? null : new Date(needs.system.now().getTime() + life_ms || 0).toISOString();
	const input = check(CreateToken, {
		name,
		scopes: scopesIn(form),
		realm: realm || null,
		environment: environment || null,
		engines: enginesIn(form),
		expires_at: ends,
	});
	const { token } = await createToken(needs, actor, input);
	keepOnce(notes, needs.system, TARGET, token);
	return { to, message: "The token is made." };
}
