import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import type { Environment } from "../../messages.ts";
import { authorize } from "../../policy/authorize.ts";
import { diffSecrets } from "../../secrets/diff.ts";
import { Diff, type Difference, Promote } from "../../secrets/model.ts";
import { type PromotionNeeds, promoteSecrets } from "../../secrets/promotion.ts";
import type { BulkNeeds } from "../../secrets/secrets.ts";
import { keysOf } from "../../semaphore.ts";
import { command } from "../command.ts";
import { type Address, address, type Html, html } from "../html.ts";
import type { LargePageNeeds } from "../large-pages.ts";
import type { Endpoint, Fields, Moved, Page, Visit } from "../page.ts";
import { options, table } from "./components.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { COLUMNS } from "./secrets.ts";

/** Dependencies of the page that compares environments. */
export type ComparePageNeeds = BulkNeeds & PromotionNeeds & LargePageNeeds;

/** Keys that differ and are shown: as many as can be promoted at once. */
const MAX_SHOWN = 1000;

const PATH = /^\/console\/realms\/([^/]+)\/compare$/;

/** Two environments side by side, without values, and promoting from one to the other. */
export function comparePage(needs: ComparePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => needs.comparisons.run(() => compare(needs, visit), visit.actor) },
		{ method: "POST", path: PATH, answer: (visit) => promote(needs, visit) },
	];
}

type Pair = { from: Environment; to: Environment };

async function compare(needs: ComparePageNeeds, visit: Visit): Promise<Page> {
	const { actor, query, token } = visit;
	const [slug = ""] = visit.params;
	const may = await mayIn(needs, actor, slug);
	const isAsked = query.from !== undefined || query.to !== undefined;
	const pair = isAsked ? check(Diff, { from: query.from, to: query.to }) : undefined;
	const shown =
		pair === undefined ? "" : await differences(needs, visit, pair, may("secrets:write") ? token : undefined);
	const { from, to } = pair ?? { from: "staging", to: "prod" };
	return {
		...inRealm(slug, "Secrets", may),
		title: `Compare environments of ${slug}`,
		body: html`${choosing(slug, { from, to })}${shown}`,
		commands: [
			command`svc diff ${from} ${to} --realm ${slug}`,
			command`svc promote KEY --from ${from} --to ${to} --realm ${slug}`,
		],
	};
}

function choosing(slug: string, { from, to }: Pair): Html {
	return html`<form method="get" action="/console/realms/${slug}/compare" class="row"><p><label for="from">Compare</label><select id="from" name="from">${options(COLUMNS, from)}</select></p><p><label for="to">with</label><select id="to" name="to">${options(COLUMNS, to)}</select></p><p><button>Compare</button></p></form>
<p class="quiet">The server compares the values and shows none. Comparing is recorded in the audit log.</p>`;
}

/** Shows which keys differ; with a form token, also what promotes them. */
async function differences(
	needs: ComparePageNeeds,
	{ actor, params: [slug = ""] }: Visit,
	pair: Pair,
	token: Html | undefined,
): Promise<Html> {
	const { found, equal, isAll } = await differing(needs, actor, slug, pair);
	const { from, to } = pair;
	const same = html`<p>${equal === 1 ? "1 key has" : `${equal} keys have`} the same value in both.</p>`;
	if (found.length === 0) return html`<h2>${from} and ${to} do not differ</h2>${same}`;
	const rows = await needs.scheduler.map(keysOf(actor), found, (difference, index) =>
		row(difference, index, pair, token !== undefined),
	);
	const list = table(
		`${isAll ? "" : "The first "}${found.length} that differ. Versions count in each environment separately: the same number does not mean the same value.`,
		["Key", from, to, "Difference", ...(token === undefined ? [] : [`Promote to ${to}`, "With others"])],
		rows,
	);
	const rest = isAll ? "" : html`<p class="warn">There are more: <code>svc diff</code> shows all.</p>`;
	const heading = html`<h2>${from} and ${to} differ</h2>`;
	if (token === undefined) return html`${heading}${list}${rest}${same}`;
	const action = pageOf(slug, pair);
	return html`${heading}<p>Promoting writes value, comment and expiry as a new version in ${to}. Keys that only ${to} has stay.</p>
<form method="post" action="${action}">${token}${list}${rest}${same}<section class="box" aria-labelledby="several"><h2 id="several">Promote several</h2><p>Tick them: the next page names them and asks you to confirm. All are written, or none.</p><p><button>Promote the ticked keys</button></p></section></form>
<form method="post" action="${action}" id="${ONE}">${token}</form>`;
}

/** The form of the buttons in the rows: one of their own, so that Enter on a box promotes nothing. */
const ONE = "one";

/** Makes the address of a comparison. */
function pageOf(slug: string, { from, to }: Pair): Address {
	return address`/console/realms/${slug}/compare?from=${from}&to=${to}`;
}

/** Reads the keys that differ, up to a page of them, and counts those that do not. */
async function differing(needs: ComparePageNeeds, actor: Visit["actor"], slug: string, pair: Pair) {
	const found: Difference[] = [];
	let equal = 0;
	const { groups } = await diffSecrets(needs, actor, slug, pair);
	for await (const group of needs.scheduler.each(keysOf(actor), groups)) {
		for (const difference of group) {
			if (difference.status === "equal") equal += 1;
			else if (found.length === MAX_SHOWN) return { found, equal, isAll: false };
			else found.push(difference);
		}
	}
	return { found, equal, isAll: true };
}

function row(
	{ key, status, from_version, to_version }: Difference,
	index: number,
	pair: Pair,
	mayWrite: boolean,
): Html {
	const version = (one: number | null) => (one === null ? "not set" : `v${one}`);
	const cells = mayWrite ? promoting({ key, from_version, to_version }, index, pair) : "";
	return html`<tr><th scope="row" class="key">${key}</th><td data-label="${pair.from}">${version(from_version)}</td><td data-label="${pair.to}">${version(to_version)}</td><td data-label="Difference">${wordOf(status, pair)}</td>${cells}</tr>`;
}

type Versions = Pick<Difference, "key" | "from_version" | "to_version">;

/** Offers to promote a key alone, or with others. */
function promoting(versions: Versions, index: number, { from, to }: Pair): Html {
	const { key } = versions;
	const [alone, ticked] = [`Promote to ${to}`, "With others"];
	if (versions.from_version === null)
		return html`<td data-label="${alone}" class="quiet">not in ${from}</td><td data-label="${ticked}" class="quiet">no</td>`;
	const seen = seenIn(versions);
	const button = html`<button form="${ONE}" name="key.one" value="${seen}">Promote<span class="hidden"> ${key}</span></button>`;
	const box = html`<label><input type="checkbox" name="key.${index}" value="${seen}"> Tick<span class="hidden"> ${key}</span></label>`;
	return html`<td data-label="${alone}">${button}</td><td data-label="${ticked}">${box}</td>`;
}

/** Names a key with the versions that its person saw. */
const seenIn = ({ key, from_version, to_version }: Versions) => `${from_version ?? ""}.${to_version ?? ""}.${key}`;

function wordOf(status: Difference["status"], { from, to }: Pair): string {
	if (status === "only_in_from") return `only in ${from}: new in ${to}`;
	return status === "only_in_to" ? `only in ${to}` : `differs: replaces the value of ${to}`;
}

type Ticked = ReturnType<typeof ticked>;

async function promote(needs: ComparePageNeeds, visit: Visit): Promise<Page | Moved> {
	const { actor, form, query } = visit;
	const [slug = ""] = visit.params;
	const pair = check(Diff, { from: query.from, to: query.to });
	const { from, to } = pair;
	const back = pageOf(slug, pair);
	const secrets = ticked(form);
	if (secrets.length === 0) return { to: back, problem: "Nothing is promoted: tick the keys to promote." };
	const given = check(Promote, { from, to, secrets });
	const isOne = form["key.one"] !== undefined;
	if (!isOne && form.action !== "promote") return askToPromote(needs, visit, pair, secrets);
	await promoteSecrets(needs, actor, slug, given).catch(showAgain);
	return { to: back, message: `Promoted from ${from} to ${to}: ${named(secrets)}. To undo it, open the key in ${to}.` };
}

/** Replaces the advice for a terminal: the page compares again. */
function showAgain(error: unknown): never {
	if (!(error instanceof AppError) || error.code !== "conflict") throw error;
	throw new AppError("conflict", "a key has changed since you looked, so nothing is promoted: look again, below");
}

/** Keys that a message names. */
const MAX_NAMED = 10;

function named(secrets: Ticked): string {
	const keys = secrets.slice(0, MAX_NAMED).map(({ key }) => key);
	const rest = secrets.length - keys.length;
	return rest === 0 ? keys.join(", ") : `${keys.join(", ")} and ${rest} more`;
}

/** Names the ticked keys, and what happens to each, before anything is written. */
async function askToPromote(
	needs: ComparePageNeeds,
	{ actor, token, params: [slug = ""] }: Visit,
	{ from, to }: Pair,
	secrets: Ticked,
): Promise<Page> {
	await authorize(needs, actor, slug, { capability: "secrets:write", environment: to });
	const lines = secrets.map(({ key, from_version, to_version }, index) => {
		const kept = html`<input type="hidden" name="key.${index}" value="${seenIn({ key, from_version, to_version })}">`;
		const effect = to_version === null ? `new in ${to}` : `replaces version ${to_version} of ${to}`;
		return html`<tr><th scope="row" class="key">${key}${kept}</th><td data-label="Promoted">version ${from_version} of ${from}</td><td data-label="Effect">${effect}</td></tr>`;
	});
	const what = secrets.length === 1 ? "1 key" : `${secrets.length} keys`;
	const back = pageOf(slug, { from, to });
	return {
		...inRealm(slug, "Secrets", await mayIn(needs, actor, slug)),
		title: `Promote ${what} from ${from} to ${to}?`,
		body: html`<form method="post" action="${back}">${token}<input type="hidden" name="action" value="promote">${table("Value, comment and expiry of each are written to the other environment", ["Key", "Promoted", "Effect"], lines)}<p>All of them are written or, if one has changed since you looked, none.</p><p><button>Promote ${what} to ${to}</button></p></form><p><a href="${back}">Back without promoting</a></p>`,
		commands: [command`svc promote ${secrets[0]?.key ?? "KEY"} --from ${from} --to ${to} --realm ${slug}`],
	};
}

const TICKED = /^(\d{1,15})\.(\d{0,15})\.(.+)$/s;

/** Reads the ticked keys with the versions that their person saw. */
function ticked(form: Fields): { key: string; from_version: number; to_version: number | null }[] {
	const names = Object.keys(form).filter((name) => name.startsWith("key."));
	return names.flatMap((name) => {
		const [, from = "", to = "", key = ""] = TICKED.exec(form[name] ?? "") ?? [];
		return key === "" ? [] : [{ key, from_version: Number(from), to_version: to === "" ? null : Number(to) }];
	});
}
