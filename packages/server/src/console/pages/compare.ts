import { check } from "../../http/input.ts";
import type { Environment } from "../../messages.ts";
import { diffSecrets } from "../../secrets/diff.ts";
import { Diff, type Difference, Promote } from "../../secrets/model.ts";
import { type PromotionNeeds, promoteSecrets } from "../../secrets/promotion.ts";
import type { BulkNeeds } from "../../secrets/secrets.ts";
import { keysOf } from "../../semaphore.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { LargePageNeeds } from "../large-pages.ts";
import type { Endpoint, Fields, Moved, Page, Visit } from "../page.ts";
import { options, table } from "./components.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { COLUMNS } from "./secrets.ts";

/** Dependencies of the page that compares environments. */
export type ComparePageNeeds = BulkNeeds & PromotionNeeds & LargePageNeeds;

/** Keys that differ and are shown: as many as can be copied at once. */
const MAX_SHOWN = 1000;

const PATH = /^\/console\/realms\/([^/]+)\/compare$/;

/** Two environments side by side, without values, and copying from one to the other. */
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

/** Shows which keys differ; with a form token, also what copies them. */
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
		`${isAll ? "" : "The first "}${found.length} that differ`,
		["Key", from, to, "Difference", `Copy to ${to}`],
		rows,
	);
	const rest = isAll ? "" : html`<p class="warn">There are more: <code>svc diff</code> shows all.</p>`;
	if (token === undefined) return html`<h2>${from} and ${to} differ</h2>${list}${rest}${same}`;
	return html`<h2>${from} and ${to} differ</h2><form method="post" action="/console/realms/${slug}/compare">${token}<input type="hidden" name="from" value="${from}"><input type="hidden" name="to" value="${to}">${list}${rest}${same}
<section class="box" aria-labelledby="copy"><h2 id="copy">Copy to ${to}</h2><p>Value, comment and expiry of the keys that you ticked become a new version in ${to}: all of them or, if one has changed since this page was made, none. Keys that only ${to} has stay.</p><p><label><input type="checkbox" name="sure" value="yes" required> I have looked at what changes in ${to}</label></p><p><button>Copy the ticked keys</button></p></section></form>`;
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
	const box =
		!mayWrite || from_version === null
			? ""
			: html`<label><input type="checkbox" name="copy.${index}" value="${from_version}.${to_version ?? ""}.${key}"> Copy<span class="hidden"> ${key}</span></label>`;
	return html`<tr><th scope="row" class="key">${key}</th><td data-label="${pair.from}">${version(from_version)}</td><td data-label="${pair.to}">${version(to_version)}</td><td data-label="Difference">${wordOf(status, pair)}</td><td data-label="Copy">${box}</td></tr>`;
}

function wordOf(status: Difference["status"], { from, to }: Pair): string {
	if (status === "only_in_from") return `only in ${from}: new in ${to}`;
	return status === "only_in_to" ? `only in ${to}` : `differs: replaces the value of ${to}`;
}

async function promote(needs: ComparePageNeeds, { actor, params: [slug = ""], form }: Visit): Promise<Moved> {
	const { from, to } = check(Diff, { from: form.from, to: form.to });
	const back = address`/console/realms/${slug}/compare?from=${from}&to=${to}`;
	const secrets = ticked(form);
	if (secrets.length === 0) return { to: back, message: "Nothing is copied: tick the keys to copy." };
	if (form.sure !== "yes") return { to: back, message: "Nothing is copied: tick that you have looked at it." };
	const written = await promoteSecrets(needs, actor, slug, check(Promote, { from, to, secrets }));
	const what = written.length === 1 ? "1 key is copied" : `${written.length} keys are copied`;
	return { to: back, message: `${what} from ${from} to ${to}.` };
}

const TICKED = /^(\d{1,15})\.(\d{0,15})\.(.+)$/s;

/** Reads the ticked keys with the versions that their person saw. */
function ticked(form: Fields): { key: string; from_version: number; to_version: number | null }[] {
	const names = Object.keys(form).filter((name) => name.startsWith("copy."));
	return names.flatMap((name) => {
		const [, from = "", to = "", key = ""] = TICKED.exec(form[name] ?? "") ?? [];
		return key === "" ? [] : [{ key, from_version: Number(from), to_version: to === "" ? null : Number(to) }];
	});
}
