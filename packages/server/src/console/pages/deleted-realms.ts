import { check } from "../../http/input.ts";
import { type Names, nameIn, namesOf } from "../../names.ts";
import { listDeletedRealms, restoreRealm } from "../../realms/deletion.ts";
import { PURGE_AFTER_DAYS, RestoreRealm } from "../../realms/model.ts";
import type { RealmNeeds } from "../../realms/realms.ts";
import type { QuestionNeeds } from "../../semaphore.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { more, table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";

/** Dependencies of the page of deleted realms. */
export type DeletedRealmNeeds = RealmNeeds & QuestionNeeds & AskAgainNeeds;

const PAGE = 100;
const PATH = /^\/console\/deleted-realms$/;

/** Deleted realms that the caller may restore: one's own, and all for an instance admin. */
export function deletedRealmsPage(needs: DeletedRealmNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => deleted(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => restore(needs, visit) },
	];
}

type Listed = Awaited<ReturnType<typeof listDeletedRealms>>["rows"][number];

async function deleted(needs: DeletedRealmNeeds, { actor, query, token }: Visit): Promise<Page> {
	const { rows, pagination } = await listDeletedRealms(needs, actor, { limit: PAGE, cursor: query.cursor });
	const people = await namesOf(
		needs,
		rows.flatMap(({ user_id, deleted_by }) => [user_id, deleted_by]),
	);
	const list =
		rows.length === 0
			? html`<p>Nothing to restore.</p>`
			: table(
					"Each with its secrets and roles",
					["Realm", "Name", "Owner", "Deleted", "By", "Restorable until", "Restore"],
					rows.map((row) => line(row, people, token)),
				);
	return {
		title: "Deleted realms",
		above: [["Realms", address`/console`]],
		body: html`<p>${actor.instance_admin ? "An owner restores their own realms, an instance admin those of everybody" : "You can restore realms that you own"}, for ${PURGE_AFTER_DAYS} days after the deletion. Leases, configurations of engines, and tokens limited to the realm do not come back.</p>${list}${more(pagination, (cursor) => address`/console/deleted-realms?cursor=${cursor}`)}`,
		commands: [command`svc realm list --deleted`, command`svc realm restore SLUG`],
	};
}

function line(row: Listed, people: ReadonlyMap<string, Names>, token: Html): Html {
	const { id, slug, name, user_id, deleted_at, deleted_by, purge_at } = row;
	const form = html`<form method="post" action="/console/deleted-realms" class="row">${token}<input type="hidden" name="id" value="${id}"><input type="hidden" name="was" value="${slug}"><label>Slug<span class="hidden"> of the restored realm, was ${slug}</span> <input name="slug" type="text" value="${slug}" required autocomplete="off" spellcheck="false" autocapitalize="off"></label><button aria-label="Restore ${slug}">Restore</button></form>`;
	return html`<tr><th scope="row">${slug}</th><td data-label="Name">${name}</td><td data-label="Owner">${nameIn(people, user_id)}</td><td data-label="Deleted">${time(deleted_at)}</td><td data-label="By">${nameIn(people, deleted_by)}</td><td data-label="Restorable until">${time(purge_at)}</td><td>${form}</td></tr>`;
}

async function restore(needs: DeletedRealmNeeds, visit: Visit): Promise<Moved> {
	const { actor, form } = visit;
	const asked = await askAgain(needs, visit, address`/console/deleted-realms`);
	if (asked !== undefined) return asked;
	const wanted = check(RestoreRealm, { id: fieldOf(visit, "id"), slug: form.slug });
	const { slug, user_id } = await restoreRealm(needs, actor, fieldOf(visit, "was"), wanted);
	const message = `The realm ${slug} is restored with its secrets and roles.`;
	return {
		to: user_id === actor.user_id ? address`/console/realms/${slug}` : address`/console/deleted-realms`,
		message,
	};
}
