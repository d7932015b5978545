import { requireInstanceAdmin } from "../../policy/authorize.ts";
import { PROVIDER_TYPES } from "../../sso/model.ts";
import { listProviders, type ProviderNeeds } from "../../sso/providers.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { options, table } from "./components.ts";
import { ofServer } from "./server-frame.ts";

/** The providers to sign in with, for the instance admin, and the way to the settings of each. */
export function providersPage(needs: ProviderNeeds): Endpoint[] {
	return [
		{ method: "GET", path: /^\/console\/providers$/, answer: (visit) => providers(needs, visit) },
		{ method: "GET", path: /^\/console\/provider$/, answer: async (visit) => forward(visit) },
	];
}

/** Leads to the settings of the provider that a form named. */
function forward({ query }: Visit): Moved {
	const [name, type] = [fieldOf({ form: query }, "name"), fieldOf({ form: query }, "type")];
	return { to: address`/console/providers/${name}?type=${type}` };
}

async function providers(needs: ProviderNeeds, { actor }: Visit): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	const rows = (await listProviders(needs)).map(
		({ name, type, display_name }) =>
			html`<tr><th scope="row"><a href="/console/providers/${name}">${name}</a></th><td data-label="Type">${type}</td><td data-label="Shown as">${display_name}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>None yet. With a provider, people sign in with an account that they have elsewhere.</p>`
			: table("Offered on the sign-in page", ["Provider", "Type", "Shown as"], rows);
	return {
		...ofServer("Providers", actor),
		title: "Providers",
		body: html`${list}${adding()}`,
		commands: [
			command`svc sso list`,
			command`svc sso set NAME --type oidc --set issuer=https://id.example.com --set client_id=svc --secret client_secret`,
		],
	};
}

function adding(): Html {
	return html`<h2>Add a provider</h2><form method="get" action="/console/provider" class="row"><p><label for="name">Name, which is part of its addresses</label><input id="name" name="name" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off"></p><p><label for="type">Type</label><select id="type" name="type">${options(PROVIDER_TYPES)}</select></p><p><button>Go on</button></p></form>`;
}
