import type { EngineNeeds } from "../../engines/engines.ts";
import type { Actor } from "../../policy/model.ts";
import type { QuestionNeeds } from "../../semaphore.ts";
import { type Html, html } from "../html.ts";
import { table } from "./components.ts";

/** Dependencies of showing the realms with a configuration of their own. */
export type EngineRealmNeeds = Pick<EngineNeeds, "store"> & QuestionNeeds;

/** Names the realms that have a configuration of their own for an engine, by their ids. */
export async function realmsWithOwn({ store }: Pick<EngineNeeds, "store">, type: string): Promise<string[]> {
	const configs = await store.engines.configs();
	const own = configs.filter(({ engine, realm_id, state }) => engine === type && realm_id !== "" && state === "active");
	return own.map(({ realm_id }) => realm_id);
}

/** Lists the realms with a configuration of their own, or with open leases of one that was removed, and offers to open that of another. */
export async function ownConfigurations(needs: EngineRealmNeeds, actor: Actor, type: string): Promise<Html> {
	const { store } = needs;
	const counts = await needs.long_questions.run(() => store.leases.openByConfig(), actor);
	const open = new Map(
		counts.filter(({ engine, realm_id }) => engine === type && realm_id !== "").map((one) => [one.realm_id, one.open]),
	);
	const configured = new Set(await realmsWithOwn(needs, type));
	const named = await store.realms.named([...new Set([...configured, ...open.keys()])]);
	const rows = named
		.toSorted((one, other) => (one.slug < other.slug ? -1 : 1))
		.map(({ id, slug }) => {
			const state = configured.has(id) ? "configured" : "removed";
			return html`<tr><th scope="row"><a href="/console/engines/${type}?realm=${slug}">${slug}</a></th><td data-label="Its own configuration">${state}</td><td data-label="Open leases of it">${open.get(id) ?? 0}</td></tr>`;
		});
	const list =
		rows.length === 0
			? html`<p>No realm has one.</p>`
			: table(
					"Realms with a configuration of their own",
					["Realm", "Its own configuration", "Open leases of it"],
					rows,
				);
	return html`<h2>For one realm</h2><p>A realm may have a configuration of its own, which overrides the one for all realms.</p>${list}<form method="get" action="/console/engines/${type}" class="row"><p><label for="realm">Slug of the realm</label><input id="realm" name="realm" type="text" autocomplete="off" spellcheck="false" autocapitalize="off"></p><p><button>Open</button></p></form>`;
}
