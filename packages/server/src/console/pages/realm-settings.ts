import { check } from "../../http/input.ts";
import { nameIn, namesOf } from "../../names.ts";
import { authorize } from "../../policy/authorize.ts";
import { realmNotFound } from "../../policy/decide.ts";
import type { Actor } from "../../policy/model.ts";
import { changeRealm } from "../../realms/change.ts";
import { ChangeRealm, PURGE_AFTER_DAYS, type RealmAccess } from "../../realms/model.ts";
import { deleteRealm } from "../../realms/realms.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { Misfilled } from "../refused-form.ts";
import { askAgain } from "./confirm.ts";
import type { MemberPageNeeds } from "./members.ts";
import { inRealm, type May, mayIn } from "./realm-frame.ts";

const SETTINGS = /^\/console\/realms\/([^/]+)\/settings$/;
const DELETE = /^\/console\/realms\/([^/]+)\/settings\/delete$/;

/** A realm's name, description and owner, and its end. */
export function realmSettingsPage(needs: MemberPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: SETTINGS, answer: (visit) => settings(needs, visit) },
		{ method: "POST", path: SETTINGS, answer: (visit) => change(needs, visit) },
		{ method: "GET", path: DELETE, answer: (visit) => askToDelete(needs, visit) },
		{ method: "POST", path: DELETE, answer: (visit) => remove(needs, visit) },
	];
}

async function settings(needs: MemberPageNeeds, { actor, token, params: [slug = ""] }: Visit): Promise<Page> {
	const realm = await needs.store.realms.access(slug, actor.user_id);
	if (realm === undefined) throw realmNotFound();
	const mayChange = await isForCaller(needs, actor, realm);
	// An instance admin without a role here may change it while its owner is disabled.
	const may: May = realm.role === null && mayChange ? () => false : await mayIn(needs, actor, slug);
	const owner = nameIn(await namesOf(needs, [realm.user_id]), realm.user_id);
	const changing = mayChange ? html`${naming(realm, token)}${transferring(slug, token)}` : facts(realm);
	const ending = may("realms:manage")
		? html`<h2>Deletion</h2><p><a href="/console/realms/${slug}/settings/delete">Delete the realm ${slug}</a></p>`
		: "";
	return {
		...inRealm(slug, "Settings", may),
		title: `Settings of ${slug}`,
		body: html`<p>${owner} owns the realm${mayChange ? "." : ", and can change it."}</p>${changing}${ending}`,
		commands: [
			...(mayChange
				? [command`svc realm edit ${slug} --name NAME`, command`svc realm transfer ${slug} --to EMAIL`]
				: []),
			...(may("realms:manage") ? [command`svc realm delete ${slug}`] : [command`svc realm show ${slug}`]),
		],
	};
}

/** Tells whether to offer the caller what changes a realm: its owner, and an instance admin while that one is disabled. */
async function isForCaller(needs: MemberPageNeeds, actor: Actor, realm: RealmAccess): Promise<boolean> {
	if (realm.user_id === actor.user_id) return true;
	return actor.instance_admin && (await needs.store.accounts.byId(realm.user_id))?.disabled_at !== null;
}

function facts({ name, description }: RealmAccess): Html {
	return html`<h2>Name</h2><p>${name}</p>${description === "" ? "" : html`<h2>Description</h2><p>${description}</p>`}`;
}

function naming({ slug, name, description }: RealmAccess, token: Html): Html {
	return html`<h2>Name</h2><form method="post" action="/console/realms/${slug}/settings">${token}
<label for="name">Name</label><input id="name" name="name" type="text" value="${name}" required autocomplete="off">
<label for="description">Description</label><input id="description" name="description" type="text" value="${description}" autocomplete="off">
<p><button>Change the name</button></p></form><p class="quiet">The slug ${slug}, which addresses and commands use, stays.</p>`;
}

function transferring(slug: string, token: Html): Html {
	return html`<h2>Owner</h2><form method="post" action="/console/realms/${slug}/settings">${token}
<label for="owner">E-mail of the new owner</label><input id="owner" name="owner" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off">
<p class="quiet">The new owner must already have the role admin in this realm. You stay an admin.</p><p><button>Transfer the realm</button></p></form>`;
}

async function change(needs: MemberPageNeeds, visit: Visit): Promise<Moved> {
	const [slug = ""] = visit.params;
	const to = address`/console/realms/${slug}/settings`;
	const asked = await askAgain(needs, visit, to);
	if (asked !== undefined) return asked;
	const { name, description, owner } = visit.form;
	const changes = check(ChangeRealm, owner === undefined ? { name, description } : { owner });
	const before = await needs.store.realms.access(slug, visit.actor.user_id);
	await changeRealm(needs, visit.actor, slug, changes);
	if (owner === undefined) return { to, message: "The name and the description are changed." };
	// An instance admin without a role there sees the realm no longer.
	return { to: before?.role === null ? address`/console` : to, message: `The realm belongs to ${owner} now.` };
}

async function askToDelete(needs: MemberPageNeeds, { actor, token, params: [slug = ""] }: Visit): Promise<Page> {
	await authorize(needs, actor, slug, { capability: "realms:manage" });
	const form = html`<form method="post" action="/console/realms/${slug}/settings/delete">${token}<p><label for="again">Type the slug to confirm</label><input id="again" name="again" type="text" required autocomplete="off" spellcheck="false" autocapitalize="off"></p><p><button>Delete the realm</button></p></form>`;
	return {
		...inRealm(slug, "Settings", await mayIn(needs, actor, slug)),
		title: `Delete the realm ${slug}?`,
		body: html`<p>From now on, no person and no program reaches its secrets. Its leases end, and so do, permanently, the tokens that are limited to it and what its machines have.</p><p>Its owner and the instance admins can restore it for ${PURGE_AFTER_DAYS} days, with its secrets and roles. Then it is removed permanently.</p>${form}<p><a href="/console/realms/${slug}/settings">Keep it</a></p>`,
		commands: [command`svc realm delete ${slug}`],
	};
}

async function remove(needs: MemberPageNeeds, visit: Visit): Promise<Moved> {
	const [slug = ""] = visit.params;
	const back = address`/console/realms/${slug}/settings/delete`;
	const asked = await askAgain(needs, visit, back);
	if (asked !== undefined) return asked;
	if (fieldOf(visit, "again") !== slug) throw new Misfilled("again", "what you typed is not the slug");
	const realm = await needs.store.realms.access(slug, visit.actor.user_id);
	await deleteRealm(needs, visit.actor, slug);
	const mayRestore = visit.actor.instance_admin || realm?.user_id === visit.actor.user_id;
	return {
		to: mayRestore ? address`/console/deleted-realms` : address`/console`,
		message: `The realm ${slug} is deleted. Its owner can restore it for ${PURGE_AFTER_DAYS} days.`,
	};
}
