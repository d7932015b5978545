import type { EngineNeeds } from "../../engines/engines.ts";
import type { CatalogEntry, EngineState } from "../../engines/host/model.ts";
import { requireInstanceAdmin } from "../../policy/authorize.ts";
import { command } from "../command.ts";
import { type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { table } from "./components.ts";
import { realmsWithOwn } from "./engine-realms.ts";
import { ofServer } from "./server-frame.ts";

/** The engines, for the instance admin: their state, and the way to the configuration of each. */
export function enginesPage(needs: EngineNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/engines$/, answer: (visit) => engines(needs, visit) }];
}

async function engines(needs: EngineNeeds, { actor }: Visit): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	const states = needs.host.state();
	const leases = Map.groupBy(await needs.store.leases.counts(), ({ engine }) => engine);
	const rows = await Promise.all(
		needs.catalog.list().map(async (entry, index) => {
			const { type } = entry;
			const open = leases.get(type)?.reduce((sum, { count }) => sum + count, 0) ?? 0;
			const isConfigured = (await needs.store.engines.config(type, "", "active")) !== undefined;
			const isKnown = needs.catalog.byType.get(type) === entry;
			const name = isKnown ? html`<a href="/console/engines/${type}">${type}</a>` : html`${type}`;
			return html`<tr><th scope="row" class="type">${name}</th><td data-label="What it does">${entry.descriptor.description}</td><td data-label="State" class="whole">${stateOf(entry, states[index])}</td><td data-label="For all realms" class="whole">${isConfigured ? "configured" : without(entry)}${ofRealms(await realmsWithOwn(needs, type))}</td><td data-label="Processes">${states[index]?.processes ?? 0}</td><td data-label="Open leases">${isKnown ? open : "see the engine that is used"}</td></tr>`;
		}),
	);
	const headings = ["Engine", "What it does", "State", "For all realms", "Processes", "Open leases"];
	return {
		...ofServer("Engines", actor),
		title: "Engines",
		body: html`${table("Engines of this server", headings, rows)}<p class="quiet">An engine makes credentials that expire. Its configuration says where, and for which realms.</p>`,
		commands: [command`svc engine list`, command`svc status`],
	};
}

/** Says how many realms have a configuration of their own. */
function ofRealms({ length }: readonly string[]): string {
	if (length === 0) return "";
	return length === 1 ? "; 1 realm has its own" : `; ${length} realms have their own`;
}

function without({ descriptor }: CatalogEntry): string {
	return descriptor.config_schema.required.length === 0 ? "not needed" : "not configured";
}

function stateOf({ unavailable }: CatalogEntry, state: EngineState | undefined): Html {
	const reason = unavailable ?? state?.unavailable;
	if (reason !== undefined) return html`<span class="bad">cannot be used:</span> ${reason}`;
	if (state?.breaker === "open") return html`<span class="bad">paused: its processes failed too often</span>`;
	const refused = state?.refused_realms ?? 0;
	return refused > 0
		? html`<span class="warn">refuses ${refused === 1 ? "1 realm" : `${refused} realms`} whose requests made it fail</span>`
		: html`ready`;
}
