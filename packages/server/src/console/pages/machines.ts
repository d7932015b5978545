import { type EngineNeeds, listRoles } from "../../engines/engines.ts";
import { check } from "../../http/input.ts";
import { listMachines, type MachineNeeds, setMachine } from "../../machines/machines.ts";
import { MAX_MACHINES, type Machine, SetMachine } from "../../machines/model.ts";
import { authorize } from "../../policy/authorize.ts";
import type { TrustType } from "../../trusts/model.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { Misfilled } from "../refused-form.ts";
import {
	engineBoxes,
	enginesIn,
	ROLES_IN_WORDS,
	roleOptions,
	scopeBoxes,
	scopesIn,
	table,
	time,
} from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { COLUMNS } from "./secrets.ts";

/** Dependencies of the page of a realm's machines. */
export type MachineListNeeds = MachineNeeds & AskAgainNeeds & Pick<EngineNeeds, "catalog">;

const PATH = /^\/console\/realms\/([^/]+)\/machines$/;

/** A realm's machine accounts, and a form for another one. */
export function machinesPage(needs: MachineListNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => machines(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => create(needs, visit) },
	];
}

async function machines(needs: MachineListNeeds, { actor, params: [slug = ""], token }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const { rows } = await listMachines(needs, actor, slug, { limit: MAX_MACHINES, cursor: undefined });
	const lines = rows.map(
		(machine) =>
			html`<tr><th scope="row"><a href="/console/realms/${slug}/machines/${machine.name}">${machine.name}</a></th><td data-label="May">${mayOf(machine)}</td><td data-label="Description">${machine.description}</td><td data-label="Made">${time(machine.created_at)}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>None yet. A machine is an account for a program. It belongs to the realm, so it stays when the person who made it leaves. It manages nothing.</p>`
			: table("Accounts of programs", ["Machine", "May", "Description", "Made"], lines);
	return {
		...inRealm(slug, "Machines", may),
		title: `Machines of ${slug}`,
		body: html`${list}${form(slug, token, listRoles(needs))}`,
		commands: [
			command`svc machine list --realm ${slug}`,
			command`svc machine create deploy --realm ${slug} --role viewer --env prod`,
		],
	};
}

/** Describes the rights of a machine. */
export function mayOf({ role, scopes, environment, engines }: Machine): string {
	const roles = engines === null ? [] : (JSON.parse(engines) as string[]);
	const only = [environment === null ? [] : [`secrets of ${environment}`], roles].flat();
	const what = `${role}, ${scopes.replaceAll(",", ", ")}`;
	return only.length === 0 ? what : `${what}; only ${only.join(", ")}`;
}

/** How a program gets a token of a machine: types of trusts, and none. */
const WAYS: readonly (readonly ["" | TrustType, label: string])[] = [
	["", "with a token, which you make next"],
	["github", "from GitHub Actions, without a stored token"],
	["gitlab", "from GitLab CI, without a stored token"],
	["kubernetes", "from Kubernetes, without a stored token"],
	["oidc", "from another issuer of JWTs, without a stored token"],
];

function form(slug: string, token: Html, roles: readonly string[]): Html {
	const options = COLUMNS.map((one) => html`<option value="${one}">${one}</option>`);
	return html`<h2>Make a machine</h2><form method="post" action="/console/realms/${slug}/machines">${token}
<label for="name">Name</label><input id="name" name="name" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off">
<label for="role">Role: the most that it may do</label><select id="role" name="role">${roleOptions()}</select>${ROLES_IN_WORDS}
${scopeBoxes()}<p class="quiet">Both limits count: a viewer with “write” ticked only reads, and a member without it does not write.</p>
<label for="environment">Only the secrets of</label><select id="environment" name="environment"><option value="">any environment</option>${options}</select>
${engineBoxes(roles)}
<label for="way">How a program gets in</label><select id="way" name="way">${WAYS.map(([way, label]) => html`<option value="${way}">${label}</option>`)}</select>
<label for="description">Description</label><input id="description" name="description" type="text" autocomplete="off">
<p><button>Make the machine</button></p></form>`;
}

async function create(needs: MachineListNeeds, visit: Visit): Promise<Moved> {
	const { actor, form } = visit;
	const [slug = ""] = visit.params;
	const asked = await askAgain(needs, visit, address`/console/realms/${slug}/machines`);
	if (asked !== undefined) return asked;
	const name = fieldOf(visit, "name");
	const { role, environment, description } = form;
	const input = check(SetMachine, {
		role,
		scopes: scopesIn(form),
		environment: environment || null,
		engines: enginesIn(form),
		description,
	});
	const realm = await authorize(needs, actor, slug, { capability: "policy:manage", scope: "any" });
	if ((await needs.store.machines.byName(realm.id, name)) !== undefined)
		throw new Misfilled("name", "the realm has a machine of this name: choose another", "conflict");
	await setMachine(needs, actor, slug, name, input);
	if (form.way)
		return {
			to: address`/console/realms/${slug}/machines/${name}/trust?type=${form.way}`,
			message: "The machine is made. Now name what gets in as it.",
		};
	return {
		to: address`/console/realms/${slug}/machines/${name}`,
		message: "The machine is made. Now make a token, or a trust.",
	};
}
