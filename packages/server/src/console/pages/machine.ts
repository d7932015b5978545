import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import {
	createMachineToken,
	deleteMachine,
	getMachine,
	listMachineTokens,
	type MachineNeeds,
	revokeMachineToken,
} from "../../machines/machines.ts";
import { CreateMachineToken, type MachineToken } from "../../machines/model.ts";
import type { Trust } from "../../trusts/model.ts";
import { deleteTrust, listTrusts, type TrustNeeds } from "../../trusts/trusts.ts";
import { command } from "../command.ts";
import { type Address, address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { mayOf } from "./machines.ts";
import { keepOnce, ONCE_SECONDS, onceBox, takeOnce } from "./once.ts";
import { inRealm, mayIn } from "./realm-frame.ts";

/** Dependencies of the page of a machine. */
export type MachinePageNeeds = MachineNeeds & TrustNeeds & AskAgainNeeds;

/** Tokens and trusts that the page shows. */
const PAGE = 100;
const DAYS = [1, 7, 30, 90];
const PATH = /^\/console\/realms\/([^/]+)\/machines\/([^/]+)$/;
const DELETE = /^\/console\/realms\/([^/]+)\/machines\/([^/]+)\/delete$/;

/** A machine: its tokens, its trusts, and its end. */
export function machinePage(needs: MachinePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => machine(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
		{ method: "GET", path: DELETE, answer: (visit) => askToDelete(needs, visit) },
		{ method: "POST", path: DELETE, answer: (visit) => remove(needs, visit) },
	];
}

/** A machine by its realm's slug and its name. */
interface MachineName {
	slug: string;
	name: string;
}

const nameIn = ({ params: [slug = "", name = ""] }: Visit): MachineName => ({ slug, name });

/** Makes the address of a machine's page. */
export function machineAddress({ slug, name }: MachineName): Address {
	return address`/console/realms/${slug}/machines/${name}`;
}

const targetOf = ({ slug, name }: MachineName) => `machine ${slug} ${name}`;

async function machine(needs: MachinePageNeeds, visit: Visit): Promise<Page> {
	const { actor, token } = visit;
	const named = nameIn(visit);
	const { slug, name } = named;
	const may = await mayIn(needs, actor, slug);
	const found = await getMachine(needs, actor, slug, name);
	const page = { limit: PAGE, cursor: undefined };
	const { rows: tokens } = await listMachineTokens(needs, actor, named, page);
	const { rows: trusts } = await listTrusts(needs, actor, named, page);
	const text = takeOnce(visit, needs.system, targetOf(named));
	const note = "The program finds it in the variable SVC_TOKEN, or in the file that SVC_TOKEN_FILE names.";
	return {
		...frame(slug, may),
		title: `Machine ${name}`,
		...(text === undefined ? {} : { refresh: ONCE_SECONDS }),
		body: html`<p>It may: ${mayOf(found)}. ${found.description}</p>${text === undefined ? "" : onceBox("Its token", text, note)}
<h2>Tokens</h2>${tokens.length === 0 ? html`<p>None.</p>` : tokenTable(named, tokens, token)}${making(named, token)}
<h2>Trusts</h2><p>With a trust, a program gets a token for a JWT of its platform, and stores none.</p>${trusts.length === 0 ? html`<p>None.</p>` : trustTable(named, trusts, token)}${adding(named)}
<p><a href="/console/realms/${slug}/machines/${name}/delete">Delete the machine</a></p>`,
		commands: [
			command`svc machine token create ${name} --realm ${slug} --ttl 30d`,
			command`svc machine trust list ${name} --realm ${slug}`,
		],
	};
}

function frame(slug: string, may: Parameters<typeof inRealm>[2]): Pick<Page, "above" | "tabs"> {
	const shared = inRealm(slug, "Machines", may);
	return { ...shared, above: [...(shared.above ?? []), ["Machines", address`/console/realms/${slug}/machines`]] };
}

function tokenTable(named: MachineName, tokens: readonly MachineToken[], token: Html): Html {
	const rows = tokens.map(
		({ id, name, prefix, trust_id, expires_at, last_used_at }) =>
			html`<tr><th scope="row" class="key">${prefix}</th><td data-label="Name">${trust_id === null ? name || "without a name" : "given by a trust"}</td><td data-label="Last used">${last_used_at === null ? "never" : time(last_used_at)}</td><td data-label="Ends">${time(expires_at)}</td><td><form method="post" action="${machineAddress(named)}">${token}<input type="hidden" name="action" value="end"><input type="hidden" name="id" value="${id}"><button aria-label="End the token ${prefix}">End</button></form></td></tr>`,
	);
	return table("Without their values", ["Begins with", "Name", "Last used", "Ends", "End it"], rows);
}

function making(named: MachineName, token: Html): Html {
	const options = DAYS.map((days) => html`<option value="${days}d">${days === 1 ? "1 day" : `${days} days`}</option>`);
	return html`<form method="post" action="${machineAddress(named)}" class="row">${token}<input type="hidden" name="action" value="token"><p><label for="name">Name of a new token</label><input id="name" name="name" type="text" autocomplete="off"></p><p><label for="ttl">It ends after</label><select id="ttl" name="ttl">${options}</select></p><p><button>Make the token</button></p></form>`;
}

function trustTable(named: MachineName, trusts: readonly Trust[], token: Html): Html {
	const rows = trusts.map(
		({ name, type, issuer, trust_domain, audience, claims }) =>
			html`<tr><th scope="row">${name}</th><td data-label="Issuer">${type}, ${issuer ?? trust_domain ?? ""}</td><td data-label="Audience">${audience}</td><td data-label="Claims" class="key">${claimsText(claims)}</td><td><form method="post" action="${machineAddress(named)}">${token}<input type="hidden" name="action" value="distrust"><input type="hidden" name="trust" value="${name}"><button aria-label="Remove the trust ${name}">Remove</button></form></td></tr>`,
	);
	return table(
		"A JWT must match every claim of one of them",
		["Trust", "Issuer", "Audience", "Claims", "Remove"],
		rows,
	);
}

/** Writes claims with texts in quotes: the text 1 is not the number 1. */
function claimsText(claims: string): string {
	const named = Object.entries(JSON.parse(claims) as Record<string, unknown>);
	return named.map(([path, value]) => `${path}=${JSON.stringify(value)}`).join(" ");
}

function adding({ slug, name }: MachineName): Html {
	const link = (type: string, label: string) =>
		html`<li><a href="/console/realms/${slug}/machines/${name}/trust?type=${type}">${label}</a></li>`;
	return html`<nav aria-label="New trust"><ul>${[
		link("github", "Trust GitHub Actions"),
		link("gitlab", "Trust GitLab CI"),
		link("kubernetes", "Trust Kubernetes"),
		link("oidc", "Trust another issuer"),
	]}</ul></nav>`;
}

async function act(needs: MachinePageNeeds, visit: Visit): Promise<Moved> {
	const { actor, form, notes } = visit;
	const named = nameIn(visit);
	const to = machineAddress(named);
	switch (fieldOf(visit, "action")) {
		case "token": {
			const asked = await askAgain(needs, visit, to);
			if (asked !== undefined) return asked;
			const input = check(CreateMachineToken, { name: form.name, ttl: form.ttl });
			const { token } = await createMachineToken(needs, actor, named, { name: input.name ?? "", ttl: input.ttl });
			keepOnce(notes, needs.system, targetOf(named), token);
			return { to, message: "The token is made." };
		}
		case "end":
			await revokeMachineToken(needs, actor, { ...named, id: fieldOf(visit, "id") });
			return { to, message: "The token has ended." };
		case "distrust":
			await deleteTrust(needs, actor, { ...named, trust: fieldOf(visit, "trust") });
			return { to, message: "The trust is removed, and the tokens that it gave have ended." };
		default:
			throw new AppError("bad_request", "action must be token, end or distrust");
	}
}

async function askToDelete(needs: MachinePageNeeds, visit: Visit): Promise<Page> {
	const { slug, name } = nameIn(visit);
	const may = await mayIn(needs, visit.actor, slug);
	await getMachine(needs, visit.actor, slug, name);
	return {
		...frame(slug, may),
		title: `Delete the machine ${name}?`,
		body: html`<p>Its tokens and trusts end immediately. Programs that use it are refused from then on. You cannot restore it.</p><form method="post" action="/console/realms/${slug}/machines/${name}/delete">${visit.token}<p><button>Delete the machine</button></p></form><p><a href="${machineAddress({ slug, name })}">Keep it</a></p>`,
		commands: [command`svc machine delete ${name} --realm ${slug}`],
	};
}

async function remove(needs: MachinePageNeeds, visit: Visit): Promise<Moved> {
	const { slug, name } = nameIn(visit);
	await deleteMachine(needs, visit.actor, slug, name);
	return { to: address`/console/realms/${slug}/machines`, message: `The machine ${name} is deleted.` };
}
