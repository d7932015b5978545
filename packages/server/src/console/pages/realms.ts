import { check } from "../../http/input.ts";
import { CreateRealm } from "../../realms/model.ts";
import { createRealm, listRealms, type RealmNeeds } from "../../realms/realms.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { more, table, time } from "./components.ts";

/** Dependencies of the page of realms. */
export type RealmPageNeeds = RealmNeeds;

const PAGE = 100;

/** The first page: the caller's realms, and a form for another one. */
export function realmPages(needs: RealmPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: /^\/console$/, answer: (visit) => realms(needs, visit) },
		{ method: "POST", path: /^\/console$/, answer: (visit) => create(needs, visit) },
	];
}

async function realms(needs: RealmPageNeeds, { actor, query, token }: Visit): Promise<Page> {
	const { rows, pagination } = await listRealms(needs, actor, { limit: PAGE, cursor: query.cursor });
	const lines = rows.map(
		({ slug, name, description, created_at }) =>
			html`<tr><th scope="row"><a href="/console/realms/${slug}">${slug}</a></th><td data-label="Name">${name}</td><td data-label="Description">${description}</td><td data-label="Made">${time(created_at)}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>You have no realm yet. A realm holds the secrets of one product or team: make one below, or ask its admin for a role.</p>`
			: table("Realms that you own or have a role in", ["Realm", "Name", "Description", "Made"], lines);
	return {
		title: "Realms",
		body: html`${list}${more(pagination, (cursor) => address`/console?cursor=${cursor}`)}<p><a href="/console/deleted-realms">Deleted realms</a></p>${form(token)}`,
		commands: [command`svc realm list`, command`svc realm create shop --name Shop`],
	};
}

function form(token: Html): Html {
	return html`<h2>Make a realm</h2><form method="post" action="/console">${token}
<label for="slug">Slug, for addresses and commands</label><input id="slug" name="slug" type="text" required autocomplete="off" spellcheck="false">
<label for="name">Name</label><input id="name" name="name" type="text" required autocomplete="off">
<label for="description">Description</label><input id="description" name="description" type="text" autocomplete="off">
<p><button>Make the realm</button></p></form>`;
}

async function create(needs: RealmPageNeeds, { actor, form }: Visit): Promise<Moved> {
	const { slug, name, description } = form;
	const realm = await createRealm(needs, actor, check(CreateRealm, { slug, name, description }));
	return { to: address`/console/realms/${realm.slug}`, message: "The realm is made." };
}
