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
const PAGE = 1000;

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
	const rows = await needs.scheduler.map(keysOf(actor), found, (line) => row(slug, line, now, may("secrets:write")));
	return {
		...inRealm(slug, "Secrets", may),
		title: slug,
		body: html`${may("secrets:write") ? adding(slug) : ""}${search(slug, q)}${about(slug)}${keys(rows)}${more(pagination, (cursor) => address`/console/realms/${slug}?q=${q}&cursor=${cursor}`)}`,
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

/** Leads to the other lists of the realm's secrets, above a table that may be long. */
const about = (slug: string): Html =>
	html`<p><a href="/console/realms/${slug}/compare">Compare environments</a> · <a href="/console/realms/${slug}/deleted">Deleted secrets</a></p>`;

function row(slug: string, { key, versions, updated_at }: Line, now: string, mayWrite: boolean): Html {
	const first = COLUMNS.find((environment) => versions.has(environment)) ?? "dev";
	const cells = COLUMNS.map((environment) => cell(slug, key, environment, versions.get(environment), now, mayWrite));
	return html`<tr><th scope="row" class="key"><a href="/console/realms/${slug}/secrets/${key}?env=${first}">${key}</a></th>${cells}<td data-label="Changed">${time(updated_at)}</td></tr>`;
}

function keys(rows: readonly Html[]): Html {
	if (rows.length === 0) return html`<p>No key here. A secret has a key, an environment and a value.</p>`;
	const count = rows.length === 1 ? "1 key" : `${rows.length} keys`;
	return table(`${count}, with the version in each environment`, ["Key", ...COLUMNS, "Changed"], rows);
}

function cell(
	slug: string,
	key: string,
	environment: Environment,
	found: { version: number; expires_at: string | null } | undefined,
	now: string,
	mayWrite: boolean,
): Html {
	const to = address`/console/realms/${slug}/secrets/${key}?env=${environment}`;
	const kind = environment === "prod" ? "prod" : "";
	if (found === undefined) {
		const missing = mayWrite ? html`<a class="quiet" href="${to}">not set</a>` : "not set";
		return html`<td class="${kind}" data-label="${environment}">${missing}</td>`;
	}
	const mark = hasExpired(found.expires_at, now) ? html` <span class="warn">expired</span>` : "";
	return html`<td class="${kind}" data-label="${environment}"><a href="${to}">v${found.version}</a>${mark}</td>`;
}

/** A form that leads to the page of a key that is not there yet. */
function adding(slug: string): Html {
	const options = COLUMNS.map((environment) => html`<option value="${environment}">${environment}</option>`);
	return html`<h2>New secret</h2><form method="get" action="/console/realms/${slug}/secret" class="row"><p><label for="key">Key</label><input id="key" name="key" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off"></p><p><label for="env">Environment</label><select id="env" name="env">${options}</select></p><p><button>Go on</button></p></form>`;
}
