import type { AuditEvent } from "../../../audit/model.ts";
import type { Role } from "../../../policy/model.ts";
import {
	decideRoles,
	granterOf,
	isLeftOut,
	isStillSo,
	leftOut,
	type RealmOfRole,
	type RoleChange,
} from "../../../sso/decide.ts";
import type { SsoLogin, SsoOutcome } from "../../../sso/model.ts";
import type { Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";
import { giveRoles, usableInvitations, useInvitations } from "./invitations.ts";
import { bindingCounts } from "./policy.ts";
import { noteSource, openSession } from "./sessions.ts";
import { useOnce } from "./sso-once.ts";
import { accountOf, identitiesOf, ownerOf } from "./sso-people.ts";

/** Adds or links what a login brings, sets the mapped roles, and opens a session. */
export async function signIn(db: Change, login: SsoLogin, event: AuditEvent): Promise<SsoOutcome> {
	const { session, arrival } = login;
	if (!isStillSo(login, await arrivalOf(db, login))) return "changed";
	const invited = arrival.kind === "created" ? arrival.invited : undefined;
	const email = arrival.kind === "created" ? arrival.account.email : "";
	const open = await usableInvitations(db, invited?.invitations ?? [], email, session.created_at);
	if (invited?.isNeeded && open.length === 0) return "not_invited";
	if (!(await areNew(db, login))) return "replay";
	await add(db, login);
	const ended = await openSession(db, session);
	await noteSource(db, session.user_id, login.known);
	const changes = await planRoles(db, login);
	const identity_id = arrival.kind === "known" ? undefined : login.link_id;
	const facts = { arrival: arrival.kind, identity_id, ...ended, ...(await useInvitations(db, open)) };
	db.append(event, { ...facts, roles_left_out: leftOut(changes) });
	await makeRoles(db, login, changes, event);
	await giveRoles(db, open, session.user_id, event);
	return changes.find(isLeftOut)?.left_out_by ?? "done";
}

async function arrivalOf(db: Change, { identity, session: { user_id }, arrival }: SsoLogin) {
	return {
		owner_id: await ownerOf(db, identity),
		account: await accountOf(db, user_id),
		identities: await identitiesOf(db, user_id),
		isEmailTaken: arrival.kind === "created" && (await db.has("account", "email = $1", [arrival.account.email])),
	};
}

/** Uses up the one-time values of a login. @returns false when one was used before */
async function areNew(db: Change, { used }: SsoLogin): Promise<boolean> {
	let areAllNew = true;
	for (const one of used) areAllNew = (await useOnce(db, one)) && areAllNew;
	return areAllNew;
}

/** Adds the account and the link of a login. */
async function add(
	db: Change,
	{ identity, link_id: id, session: { user_id, created_at }, arrival }: SsoLogin,
): Promise<void> {
	if (arrival.kind === "known") return;
	const made_account = arrival.kind === "created";
	if (arrival.kind === "created") await db.insert("account", arrival.account);
	const is_vouched = arrival.kind !== "created" || arrival.is_vouched;
	await db.insert("sso_identity", { ...identity, ...{ id, user_id, created_at, is_vouched, made_account } });
}

/** Decides the roles that the provider grants, and those that it granted before. */
async function planRoles(db: Change, login: SsoLogin): Promise<RoleChange[]> {
	const { user_id } = login.session;
	const granted = await db.sql.rows<{ realm_id: string }>(
		`SELECT realm_id FROM binding JOIN realm ON realm.id = realm_id
		WHERE binding.user_id = $1 AND granted_by = $2 AND deleted_at IS NULL`,
		[user_id, granterOf(login)],
	);
	const former = granted.map(({ realm_id }) => realm_id);
	const realms = new Map<string, RealmOfRole | undefined>();
	for (const id of new Set([...former, ...login.roles.map(({ realm_id }) => realm_id)]))
		realms.set(id, await realmOf(db, user_id, id));
	const { memberships } = await bindingCounts(db, "", user_id);
	return decideRoles(login, former, memberships, (id) => realms.get(id));
}

async function realmOf(db: Change, user_id: string, realm_id: string): Promise<RealmOfRole | undefined> {
	const found = await liveRealm(db, realm_id);
	if (found === undefined) return undefined;
	const [held] = await db.verified("binding", "realm_id = $1 AND user_id = $2", [realm_id, user_id]);
	const { count } = await bindingCounts(db, realm_id, user_id);
	return { slug: found.slug, owner_id: found.user_id, held, count };
}

/** Updates the roles that the provider granted. */
async function makeRoles(
	db: Change,
	login: SsoLogin,
	changes: readonly RoleChange[],
	event: AuditEvent,
): Promise<void> {
	const { user_id } = login.session;
	const granted_by = granterOf(login);
	const { request_id, ip } = event.data;
	for (const { id, realm_id, slug: realm, role, isHeld } of changes.filter((change) => !isLeftOut(change))) {
		const note = (type: "policy.binding.created" | "policy.binding.deleted", facts: { role?: Role }) =>
			db.append({ ...event, type, realm_id, realm, data: { user_id, granted_by, ...facts, request_id, ip } });
		if (isHeld) {
			await db.remove("binding", "realm_id = $1 AND user_id = $2", [realm_id, user_id]);
			note("policy.binding.deleted", {});
		}
		if (role !== undefined) {
			await db.insert("binding", { id, realm_id, user_id, role, granted_by, created_at: event.timestamp });
			note("policy.binding.created", { role });
		}
	}
}
