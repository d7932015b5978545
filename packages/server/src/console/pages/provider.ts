import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import { requireInstanceAdmin } from "../../policy/authorize.ts";
import { PROVIDER_TYPES, type ProviderType } from "../../sso/model.ts";
import {
	getProvider,
	type ProviderNeeds,
	removeProvider,
	type ShownProvider,
	serviceProvider,
	setProvider,
	testProvider,
} from "../../sso/providers.ts";
import { SetProvider } from "../../sso/settings.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { providerFields, usualSettings } from "../provider-fields.ts";
import { settingsIn, textsOf } from "../settings-fields.ts";
import { keepTyped, type Refused, settingsForm, storeSettings } from "../settings-form.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of a provider. */
export type ProviderPageNeeds = ProviderNeeds & AskAgainNeeds;

const PATH = /^\/console\/providers\/([^/]+)$/;
const REMOVE = /^\/console\/providers\/([^/]+)\/remove$/;

/** A provider's settings: a form with the fields of its type, a test, and its end. */
export function providerPage(needs: ProviderPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => pageWith(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
		{ method: "GET", path: REMOVE, answer: (visit) => askToRemove(needs, visit) },
		{ method: "POST", path: REMOVE, answer: (visit) => remove(needs, visit) },
	];
}

const nameOf = ({ params: [name = ""] }: Visit) => name;
const targetOf = (name: string, type: ProviderType) => `provider ${name} ${type}`;

/** Finds the stored provider; undefined when there is none. @throws AppError forbidden */
async function storedAt(needs: ProviderNeeds, visit: Visit): Promise<ShownProvider | undefined> {
	try {
		return await getProvider(needs, visit.actor, nameOf(visit));
	} catch (error) {
		if (error instanceof AppError && error.code === "not_found") return undefined;
		throw error;
	}
}

/** Reads the type of a provider that is not stored yet. @throws AppError not_found */
function typeIn({ query: { type } }: Visit): ProviderType {
	const known = PROVIDER_TYPES.find((one) => one === type);
	if (known !== undefined) return known;
	throw new AppError("not_found", "there is no provider of this name: the page Providers lists them");
}

async function pageWith(needs: ProviderPageNeeds, visit: Visit, refused?: Refused): Promise<Page> {
	const name = nameOf(visit);
	const stored = await storedAt(needs, visit);
	const type = stored?.type ?? typeIn(visit);
	const { fields, more } = providerFields(type);
	const settings = stored === undefined ? usualSettings(type) : { ...stored.config, display_name: stored.display_name };
	const to = address`/console/providers/${name}?type=${type}`;
	const form = settingsForm({
		...{ to, token: visit.token, target: targetOf(name, type), fields, more, refused, draft: visit.draft },
		stored: textsOf([...fields, ...more], settings),
		anyway: FAILING,
	});
	return {
		...frame(visit),
		title: `Provider ${name}`,
		...(refused === undefined ? {} : { status: refused.why.status }),
		body: html`<p>${stored === undefined ? `A new provider of the type ${type}.` : `It is of the type ${type}.`}</p>${atProvider(needs, name, type, stored)}<h2>Settings</h2>${form}${stored === undefined ? "" : actionsOn(name, visit.token)}`,
		commands: [
			command`svc sso show ${name}`,
			command`svc sso set ${name} --type ${type} --set FIELD=VALUE --secret FIELD`,
			command`svc sso test ${name}`,
			command`svc sso remove ${name}`,
		],
	};
}

const FAILING =
	"Stored anyway, it is offered on the sign-in page immediately, and people who choose it see an error until it works.";
const STORED =
	"The provider is stored although it failed its test. It is offered on the sign-in page, and signing in with it fails until it works: correct it, or remove it.";

function frame({ actor }: Visit): Pick<Page, "above" | "tabs"> {
	const shared = ofServer("Providers", actor);
	return { ...shared, above: [...(shared.above ?? []), ["Providers", address`/console/providers`]] };
}

/** Lists the addresses to register at the provider. */
function atProvider(needs: ProviderNeeds, name: string, type: ProviderType, stored: ShownProvider | undefined): Html {
	const line = (label: string, text: string) => html`<p>${label}</p><pre>${text}</pre>`;
	const base = `${needs.address()}/api/v1/auth`;
	if (type === "ldap") return html`<p>Nothing needs to be registered at the directory.</p>`;
	if (type === "oidc") return html`<h2>At the provider</h2>${line("Callback", `${base}/oidc/${name}/callback`)}`;
	const { entity_id, acs_url } = serviceProvider(needs, name, (stored?.config ?? {}) as never);
	return html`<h2>At the provider</h2>${line("Our metadata", `${base}/saml/${name}/metadata`)}${line("Our entity id", entity_id)}${line("Assertion consumer service (ACS)", acs_url)}`;
}

/** Offers the actions on a stored provider. */
function actionsOn(name: string, token: Html): Html {
	return html`<form method="post" action="/console/providers/${name}">${token}<input type="hidden" name="action" value="test"><p><button>Test what is stored</button></p></form><p><a href="/console/providers/${name}/remove">Remove the provider</a></p>`;
}

async function act(needs: ProviderPageNeeds, visit: Visit): Promise<Page | Moved> {
	const { actor, form } = visit;
	const name = nameOf(visit);
	if (form.action === "test") {
		const { status, message } = await testProvider(needs, actor, name);
		const to = address`/console/providers/${name}`;
		return { to, message: status === "healthy" ? "The provider works." : `The provider does not work: ${message}` };
	}
	return store(needs, visit, name);
}

async function store(needs: ProviderPageNeeds, visit: Visit, name: string): Promise<Page | Moved> {
	await requireInstanceAdmin(needs, visit.actor, "write");
	const to = address`/console/providers/${name}?type=${visit.query.type ?? ""}`;
	const asked = await askAgain(needs, visit, to);
	if (asked !== undefined) {
		const type = PROVIDER_TYPES.find((one) => one === visit.query.type);
		return type === undefined ? asked : keepTyped(visit, targetOf(name, type), asked);
	}
	const type = (await storedAt(needs, visit))?.type ?? typeIn(visit);
	const { fields, more } = providerFields(type);
	const refused = await storeSettings(visit, targetOf(name, type), async (typed, is_tried) => {
		const { display_name, ...config } = settingsIn([...fields, ...more], typed);
		await setProvider(needs, visit.actor, name, check(SetProvider, { type, display_name, config }), is_tried);
	});
	if (refused !== undefined) return pageWith(needs, visit, refused);
	const isTried = visit.form.action !== "keep";
	return {
		to,
		...(isTried ? { message: "The provider is stored. It takes effect immediately." } : { problem: STORED }),
	};
}

async function askToRemove(needs: ProviderPageNeeds, visit: Visit): Promise<Page> {
	const { name } = await getProvider(needs, visit.actor, nameOf(visit));
	return {
		...frame(visit),
		title: `Remove the provider ${name}?`,
		body: html`<p>Nobody can sign in with it any more. People keep their accounts and sessions; an account without a password and without another linked provider cannot be used again until you add it again.</p><form method="post" action="/console/providers/${name}/remove">${visit.token}<p><button>Remove the provider</button></p></form><p><a href="/console/providers/${name}">Keep it</a></p>`,
		commands: [command`svc sso remove ${name}`],
	};
}

async function remove(needs: ProviderPageNeeds, visit: Visit): Promise<Moved> {
	await removeProvider(needs, visit.actor, nameOf(visit));
	return { to: address`/console/providers`, message: "The provider is removed." };
}
