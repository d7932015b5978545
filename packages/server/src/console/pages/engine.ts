import { type ConfigScope, getConfig, removeConfig, setConfig } from "../../engines/config/config.ts";
import { coreFields } from "../../engines/config/fields.ts";
import type { EngineNeeds } from "../../engines/engines.ts";
import type { CatalogEntry } from "../../engines/host/model.ts";
import { AppError } from "../../errors.ts";
import { requireInstanceAdmin } from "../../policy/authorize.ts";
import { realmNotFound } from "../../policy/decide.ts";
import { command, joined } from "../command.ts";
import { type Address, address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { type Field, schemaField, settingsIn, textsOf } from "../settings-fields.ts";
import { keepTyped, type Refused, settingsForm, storeSettings } from "../settings-form.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { type EngineRealmNeeds, ownConfigurations } from "./engine-realms.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of an engine. */
export type EnginePageNeeds = EngineNeeds & AskAgainNeeds & EngineRealmNeeds;

const PATH = /^\/console\/engines\/([^/]+)$/;
const REMOVE = /^\/console\/engines\/([^/]+)\/remove$/;

/** Fields of a third party's schema that a form shows. */
const MAX_FIELDS = 64;

/** An engine's configuration, for all realms or one: a form made from its config_schema, and its end. */
export function enginePage(needs: EnginePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => engine(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => store(needs, visit) },
		{ method: "GET", path: REMOVE, answer: (visit) => askToRemove(needs, visit) },
		{ method: "POST", path: REMOVE, answer: (visit) => remove(needs, visit) },
	];
}

const scopeIn = ({ params: [type = ""], query }: Visit): ConfigScope => ({ type, slug: query.realm || undefined });

/** Reads the engine and the realm that an address names, if they exist and the caller may change the configuration. @throws AppError forbidden, not_found */
async function findScope(needs: EngineNeeds, visit: Visit): Promise<ConfigScope> {
	await requireInstanceAdmin(needs, visit.actor, "read");
	const scope = scopeIn(visit);
	needs.runtime.entry(scope.type);
	const { slug } = scope;
	if (slug !== undefined && (await needs.store.realms.access(slug, "")) === undefined) throw realmNotFound();
	return scope;
}

function pageOf({ type, slug }: ConfigScope): Address {
	return slug === undefined ? address`/console/engines/${type}` : address`/console/engines/${type}?realm=${slug}`;
}

const targetOf = ({ type, slug = "" }: ConfigScope) => `engine ${type} ${slug}`;

/** Makes the fields of an engine's form: those of its schema, and those that the server adds. */
function fieldsOf({ descriptor, kind }: CatalogEntry, { slug }: ConfigScope): { fields: Field[]; more: Field[] } {
	const { properties, required } = descriptor.config_schema;
	const own = Object.entries(properties).map(([name, one]) => schemaField(name, one, required.includes(name)));
	const added = Object.entries(coreFields(kind))
		.filter(([name]) => !Object.hasOwn(properties, name))
		.map(([name, one]) => schemaField(name, one, name === "allowed_realms"));
	const isOfAll = ({ name }: Field) => name === "allowed_realms" || name === "max_connections_per_realm";
	const [ofAll, more] = [added.filter(isOfAll), added.filter((one) => !isOfAll(one))];
	return { fields: slug === undefined ? [...own, ...ofAll] : own, more };
}

async function engine(needs: EnginePageNeeds, visit: Visit): Promise<Page> {
	return pageWith(needs, visit, await findScope(needs, visit));
}

const ALLOWING = [command`--allow-realm shop`];

async function pageWith(needs: EnginePageNeeds, visit: Visit, scope: ConfigScope, refused?: Refused): Promise<Page> {
	const { type, slug } = scope;
	const entry = needs.runtime.entry(type);
	const stored = entry.unavailable === undefined ? await storedAt(needs, visit, scope) : undefined;
	const isOf = slug === undefined ? "for all realms" : html`for the realm ${slug} alone`;
	const whose = slug === undefined ? [] : [command`--realm ${slug}`];
	return {
		...frame(visit),
		title: `Engine ${type}`,
		...(refused === undefined ? {} : { status: refused.why.status }),
		body: html`<p>${entry.descriptor.description}</p><h2>Configuration ${isOf}</h2>${stateOf(entry, scope, stored)}
${entry.unavailable === undefined ? form(entry, visit, scope, stored, refused) : ""}
${stored === undefined && entry.unavailable === undefined ? "" : removing(scope)}${slug === undefined ? await ownConfigurations(needs, visit.actor, type) : html`<p><a href="/console/engines/${type}">The configuration for all realms</a></p>`}`,
		commands: [
			joined(command`svc engine show ${type}`, ...whose),
			joined(
				command`svc engine set ${type} --set FIELD=VALUE --secret FIELD`,
				...(slug === undefined ? ALLOWING : whose),
			),
			joined(command`svc engine remove ${type}`, ...whose),
		],
	};
}

function frame({ actor }: Visit): Pick<Page, "above" | "tabs"> {
	const shared = ofServer("Engines", actor);
	return { ...shared, above: [...(shared.above ?? []), ["Engines", address`/console/engines`]] };
}

/** Reads the configuration with its status, secrets masked; undefined when there is none. */
async function storedAt(needs: EngineNeeds, { actor }: Visit, scope: ConfigScope) {
	try {
		return await getConfig(needs, actor, scope);
	} catch (error) {
		if (error instanceof AppError && error.code === "not_found") return undefined;
		throw error;
	}
}

function stateOf(
	{ unavailable, descriptor }: CatalogEntry,
	{ slug }: ConfigScope,
	stored: { status: string } | undefined,
): Html {
	if (unavailable !== undefined) return html`<p class="bad">The engine cannot be used: ${unavailable}</p>`;
	if (stored === undefined && slug !== undefined)
		return html`<p>The realm has none of its own. The one for all realms serves it, if that names the realm.</p>`;
	if (stored === undefined && descriptor.config_schema.required.length === 0)
		return html`<p>None is stored, and none is needed.</p>`;
	if (stored === undefined) return html`<p>There is none: the engine serves only realms with one of their own.</p>`;
	const isHealthy = stored.status.startsWith("healthy");
	return isHealthy
		? html`<p>It works: ${stored.status}.</p>`
		: html`<p class="bad">It does not work: ${stored.status}</p>`;
}

function form(
	entry: CatalogEntry,
	{ token, draft }: Visit,
	scope: ConfigScope,
	stored: Record<string, unknown> | undefined,
	refused: Refused | undefined,
): Html {
	const { fields, more } = fieldsOf(entry, scope);
	if (fields.length > MAX_FIELDS)
		return html`<p>It has too many fields for a page: set it with <code>svc engine set</code>.</p>`;
	const usual = Object.entries(entry.descriptor.config_schema.properties).map(([name, one]) => [name, one.default]);
	const texts = textsOf([...fields, ...more], stored ?? Object.fromEntries(usual));
	return settingsForm({
		to: pageOf(scope),
		token,
		target: targetOf(scope),
		fields,
		more,
		stored: texts,
		refused,
		draft,
	});
}

function removing({ type, slug = "" }: ConfigScope): Html {
	return html`<p><a href="/console/engines/${type}/remove?realm=${slug}">Remove this configuration</a></p>`;
}

async function store(needs: EnginePageNeeds, visit: Visit): Promise<Page | Moved> {
	const scope = await findScope(needs, visit);
	const to = pageOf(scope);
	const asked = await askAgain(needs, visit, to);
	if (asked !== undefined) return keepTyped(visit, targetOf(scope), asked);
	const { fields, more } = fieldsOf(needs.runtime.entry(scope.type), scope);
	let status = "";
	const refused = await storeSettings(visit, targetOf(scope), async (typed, is_tried) => {
		const given = settingsIn([...fields, ...more], typed);
		({ status } = await setConfig(needs, visit.actor, scope, given, is_tried));
	});
	if (refused !== undefined) return pageWith(needs, visit, scope, refused);
	return { to, message: `The configuration is stored. It takes effect immediately: ${status}` };
}

async function askToRemove(needs: EnginePageNeeds, visit: Visit): Promise<Page> {
	const scope = await findScope(needs, visit);
	const { type, slug } = scope;
	const what = slug === undefined ? "for all realms" : `for the realm ${slug}`;
	return {
		...frame(visit),
		title: `Remove the configuration of ${type}?`,
		body: html`<p>It is the configuration ${what}. It will make no more credentials; those that exist are still revoked when they end.</p><form method="post" action="/console/engines/${type}/remove?realm=${slug ?? ""}">${visit.token}<p><button>Remove the configuration</button></p></form><p><a href="${pageOf(scope)}">Keep it</a></p>`,
		commands: [joined(command`svc engine remove ${type}`, ...(slug === undefined ? [] : [command`--realm ${slug}`]))],
	};
}

async function remove(needs: EnginePageNeeds, visit: Visit): Promise<Moved> {
	const scope = await findScope(needs, visit);
	await removeConfig(needs, visit.actor, scope);
	return { to: pageOf(scope), message: "The configuration is removed." };
}
