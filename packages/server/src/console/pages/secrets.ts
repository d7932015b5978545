import { hasExpired } from "../../expiry.ts";
import type { Environment } from "../../messages.ts";
import { listSecrets } from "../../secrets/lists.ts";
import type { BulkNeeds } from "../../secrets/secrets.ts";
import { keysOf } from "../../semaphore.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { LargePageNeeds } from "../large-pages.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { more, table, time } from "./components.ts";
import { inRealm, mayIn } from "./realm-frame.ts";

/** Secrets of all environments that one page shows, without their values. */
const PAGE = 2000;

/** Environments from left to right, as secrets are promoted. */
export const COLUMNS: readonly Environment[] = ["dev", "test", "staging", "prod"];

type SecretsPageNeeds = BulkNeeds & LargePageNeeds;

/** A realm's page of keys and environments. */
export function secretsPages(needs: SecretsPageNeeds): Endpoint[] {
	const answer = (visit: Visit) => needs.key_lists.run(() => secrets(needs, visit), visit.actor);
	return [{ method: "GET", path: /^\/console\/realms\/([^/]+)$/, answer }];
}

/** Versions of a key in each environment. */
interface Line {
	key: string;
	versions: Map<Environment, { version: number; expires_at: string | null }>;
	updated_at: string;
}

async function secrets(needs: SecretsPageNeeds, { actor, params: [slug = ""], query }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const page = { limit: PAGE, cursor: query.cursor };
	const { groups, pagination } = await listSecrets(needs, actor, slug, { asked: undefined, withValues: false }, page);
	const lines = new Map<string, Line>();
	for await (const group of groups) for (const secret of group) put(lines, secret);
	const q = (query.q ?? "").trim();
	const found = [...lines.values()].filter(({ key }) => key.toLowerCase().includes(q.toLowerCase()));
	found.sort((one, other) => (one.key < other.key ? -1 : 1));
	const now = needs.system.now().toISOString();
	const isWhole = query.cursor === undefined && !pagination.has_more;
	const shown = { slug, now, mayWrite: may("secrets:write"), isWhole };
	const rows = await needs.scheduler.map(keysOf(actor), found, (line) => row(shown, line));
	const rest = isWhole
		? ""
		: html`<p class="warn">The realm has more than ${PAGE} secrets. A key that was not written in all environments together may be on several of these pages.</p>`;
	return {
		...inRealm(slug, "Secrets", may),
		title: slug,
		body: html`${may("secrets:write") ? adding(slug) : ""}${search(slug, q)}${about(slug, neighborsIn(lines))}${rest}${keys(rows)}${more(pagination, (cursor) => address`/console/realms/${slug}?q=${q}&cursor=${cursor}`)}`,
		commands: [command`svc secret list --realm ${slug} --env prod`, command`svc diff dev prod --realm ${slug}`],
	};
}

type Listed = {
	key: string;
	environment: Environment;
	version: number;
	updated_at: string;
	expires_at?: string | null;
};

function put(lines: Map<string, Line>, { key, environment, version, updated_at, expires_at = null }: Listed): void {
	const line = lines.get(key) ?? { key, versions: new Map(), updated_at };
	line.versions.set(environment, { version, expires_at });
	if (updated_at > line.updated_at) line.updated_at = updated_at;
	lines.set(key, line);
}

function search(slug: string, q: string): Html {
	return html`<search><form method="get" action="/console/realms/${slug}" class="row"><p><label for="q">Find a key</label><input id="q" name="q" type="search" value="${q}" autocomplete="off" spellcheck="false"></p><p><button>Find</button></p></form></search>`;
}

type Pair = readonly [from: Environment, to: Environment];

/** Pairs the environments that have secrets, each with the next: secrets are promoted from one to the other. */
function neighborsIn(lines: ReadonlyMap<string, Line>): Pair[] {
	const all = [...lines.values()];
	const used = COLUMNS.filter((environment) => all.some(({ versions }) => versions.has(environment)));
	return used.slice(1).flatMap((to, at): Pair[] => [[used[at] ?? to, to]]);
}

/** Leads to the other lists of the realm's secrets, above a table that may be long. */
function about(slug: string, pairs: readonly Pair[]): Html {
	const links = pairs.map(
		([from, to], at) =>
			html`${at === 0 ? ": " : ", "}<a href="/console/realms/${slug}/compare?from=${from}&to=${to}">${from} with ${to}</a>`,
	);
	return html`<p><a href="/console/realms/${slug}/compare">Compare environments</a>${links} · <a href="/console/realms/${slug}/deleted">Deleted secrets</a></p>`;
}

/** Facts that all rows of a page share. */
interface Shown {
	slug: string;
	now: string;
	mayWrite: boolean;
	/** Whether the page has all secrets of the realm. */
	isWhole: boolean;
}

/** Makes a row. Its addresses are relative: they are most of the page. */
function row(shown: Shown, line: Line): Html {
	const { key, versions, updated_at } = line;
	const first = COLUMNS.find((environment) => versions.has(environment)) ?? "dev";
	const cells = COLUMNS.map((environment) => cell(shown, line, environment));
	return html`<tr><th scope="row" class="key"><a href="./${shown.slug}/secrets/${key}?env=${first}">${key}</a></th>${cells}<td>${time(updated_at)}</td></tr>`;
}

function keys(rows: readonly Html[]): Html {
	if (rows.length === 0) return html`<p>No key here. A secret has a key, an environment and a value.</p>`;
	const count = rows.length === 1 ? "1 key" : `${rows.length} keys`;
	const caption = `${count}, with the version in each environment`;
	// The stylesheet names and colors the cells by their place: attributes would be a fifth of the page.
	return table(caption, ["Key", ...COLUMNS, "Changed"], rows, "stack matrix");
}

function cell({ slug, now, mayWrite, isWhole }: Shown, { key, versions }: Line, environment: Environment): Html {
	const found = versions.get(environment);
	const link = (text: string) => html`<a href="./${slug}/secrets/${key}?env=${environment}">${text}</a>`;
	const quiet = (text: string) => html`<a class="quiet" href="./${slug}/secrets/${key}?env=${environment}">${text}</a>`;
	const missing = () => (isWhole ? (mayWrite ? quiet("not set") : html`not set`) : quiet("look"));
	const mark = found !== undefined && hasExpired(found.expires_at, now) ? html` <span class="warn">expired</span>` : "";
	return html`<td>${found === undefined ? missing() : html`${link(`v${found.version}`)}${mark}`}</td>`;
}

/** A form that leads to the page of a key that is not there yet. */
function adding(slug: string): Html {
	const options = COLUMNS.map((environment) => html`<option value="${environment}">${environment}</option>`);
	return html`<h2>New secret</h2><form method="get" action="/console/realms/${slug}/secret" class="row"><p><label for="key">Key</label><input id="key" name="key" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off"></p><p><label for="env">Environment</label><select id="env" name="env">${options}</select></p><p><button>Go on</button></p></form>`;
}
