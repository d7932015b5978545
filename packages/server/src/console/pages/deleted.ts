import { nameIn, namesOf } from "../../names.ts";
import { authorize } from "../../policy/authorize.ts";
import { deleteSecret, listDeletedSecrets, purgeSecret, restoreSecret } from "../../secrets/deletion.ts";
import { RESTORABLE_DAYS } from "../../secrets/model.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { Misfilled } from "../refused-form.ts";
import { more, table, time } from "./components.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { nameOf, pageOf, type SecretNeeds } from "./secret-name.ts";

const PAGE = 100;
const LIST = /^\/console\/realms\/([^/]+)\/deleted$/;
const DELETE = /^\/console\/realms\/([^/]+)\/secrets\/([^/]+)\/delete$/;
const PURGE = /^\/console\/realms\/([^/]+)\/secrets\/([^/]+)\/purge$/;

/** Deleting a secret, and what was deleted: restoring it, or removing it permanently. */
export function deletedPages(needs: SecretNeeds): Endpoint[] {
	return [
		{ method: "GET", path: LIST, answer: (visit) => deleted(needs, visit) },
		{ method: "POST", path: LIST, answer: (visit) => restore(needs, visit) },
		{ method: "GET", path: DELETE, answer: (visit) => askToDelete(needs, visit) },
		{ method: "POST", path: DELETE, answer: (visit) => remove(needs, visit) },
		{ method: "GET", path: PURGE, answer: (visit) => askToPurge(needs, visit) },
		{ method: "POST", path: PURGE, answer: (visit) => purge(needs, visit) },
	];
}

async function deleted(needs: SecretNeeds, { actor, params: [slug = ""], query, token }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const page = { limit: PAGE, cursor: query.cursor };
	const { rows, pagination } = await listDeletedSecrets(needs, actor, slug, undefined, page);
	const people = await namesOf(
		needs,
		rows.map(({ deleted_by }) => deleted_by),
	);
	const lines = rows.map(({ id, key, environment, version, deleted_by, deleted_at }) => {
		const [mayRestore, mayPurge] = [may("secrets:delete") && may("secrets:write"), may("secrets:delete")];
		const restoring = mayRestore
			? html`<form method="post" action="/console/realms/${slug}/deleted?env=${environment}">${token}<input type="hidden" name="id" value="${id}"><input type="hidden" name="key" value="${key}"><button aria-label="Restore ${key} in ${environment}">Restore</button></form>`
			: "";
		const purging = mayPurge
			? html`<a class="button" href="/console/realms/${slug}/secrets/${key}/purge?env=${environment}" aria-label="Remove permanently: ${key} in ${environment}">Remove permanently</a>`
			: "";
		return html`<tr><th scope="row" class="key">${key}</th><td data-label="Environment">${environment}</td><td data-label="Version">${version}</td><td data-label="Deleted">${time(deleted_at)}</td><td data-label="By">${nameIn(people, deleted_by)}</td><td><div class="row">${restoring}${purging}</div></td></tr>`;
	});
	const list =
		rows.length === 0
			? html`<p>Nothing to restore.</p>`
			: table("Each with its history", ["Key", "Environment", "Version", "Deleted", "By", "Restore"], lines);
	return {
		...inRealm(slug, "Secrets", may),
		title: `Deleted secrets of ${slug}`,
		body: html`<p>A deleted secret can be restored for ${RESTORABLE_DAYS} days.</p>${list}${more(pagination, (cursor) => address`/console/realms/${slug}/deleted?cursor=${cursor}`)}`,
		commands: [
			command`svc secret list --deleted --realm ${slug}`,
			command`svc secret restore KEY --realm ${slug} --env prod`,
		],
	};
}

async function restore(needs: SecretNeeds, visit: Visit): Promise<Moved> {
	const name = nameOf({ ...visit, params: [visit.params[0] ?? "", fieldOf(visit, "key")] });
	const { version } = await restoreSecret(needs, visit.actor, name, fieldOf(visit, "id"));
	return { to: pageOf(name), message: `${name.key} is restored with its history, as version ${version}.` };
}

async function askToDelete(needs: SecretNeeds, visit: Visit): Promise<Page> {
	const name = nameOf(visit);
	const { slug, key, environment } = name;
	await authorize(needs, visit.actor, slug, { capability: "secrets:delete", environment });
	const form = html`<form method="post" action="/console/realms/${slug}/secrets/${key}/delete?env=${environment}">${visit.token}<p><button>Delete the secret</button></p></form>`;
	return {
		...above(name),
		title: `Delete ${key} in ${environment}?`,
		body: html`<p>From now on, no person or program can read it. You can restore it with its history for ${RESTORABLE_DAYS} days.</p>${form}${keeping(name)}`,
		commands: [command`svc secret delete ${key} --realm ${slug} --env ${environment}`],
	};
}

type Name = ReturnType<typeof nameOf>;

function above(name: Name): Pick<Page, "above" | "tabs"> {
	const frame = inRealm(name.slug, "Secrets");
	return { ...frame, above: [...(frame.above ?? []), [`${name.key} in ${name.environment}`, pageOf(name)]] };
}

function keeping(name: Name): Html {
	return html`<p><a href="${pageOf(name)}">Keep it</a></p>`;
}

async function remove(needs: SecretNeeds, visit: Visit): Promise<Moved> {
	const name = nameOf(visit);
	await deleteSecret(needs, visit.actor, name);
	const message = `${name.key} is deleted in ${name.environment}. You can restore it here for ${RESTORABLE_DAYS} days.`;
	return { to: address`/console/realms/${name.slug}/deleted`, message };
}

async function askToPurge(needs: SecretNeeds, visit: Visit): Promise<Page> {
	const name = nameOf(visit);
	const { slug, key, environment } = name;
	await authorize(needs, visit.actor, slug, { capability: "secrets:delete", environment });
	const form = html`<form method="post" action="/console/realms/${slug}/secrets/${key}/purge?env=${environment}">${visit.token}<p><label for="again">Type the key to confirm</label><input id="again" name="again" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off"></p><p><button>Remove it permanently</button></p></form>`;
	return {
		...above(name),
		title: `Permanently remove ${key} in ${environment}?`,
		body: html`<p>This removes the current value, the history, and everything ever deleted under ${key} in ${environment}. Only a backup can bring it back.</p>${form}<p><a href="/console/realms/${slug}/deleted">Keep it</a></p>`,
		commands: [command`svc secret delete ${key} --purge --realm ${slug} --env ${environment}`],
	};
}

async function purge(needs: SecretNeeds, visit: Visit): Promise<Moved> {
	const name = nameOf(visit);
	if (fieldOf(visit, "again") !== name.key) throw new Misfilled("again", "what you typed is not the key");
	await purgeSecret(needs, visit.actor, name);
	const to = address`/console/realms/${name.slug}/deleted`;
	return { to, message: `${name.key} in ${name.environment} is removed permanently.` };
}
