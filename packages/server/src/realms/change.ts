import { eventBy } from "../audit/model.ts";
import { AppError, LimitReached } from "../errors.ts";
import { normalEmail } from "../normal-text.ts";
import { authorize, isUnrestricted, logRefusal, requireInstanceAdmin, requireSession } from "../policy/authorize.ts";
import { type Actor, type Binding, MAX_MEMBERSHIPS } from "../policy/model.ts";
import type { Realm, RealmAccess } from "./model.ts";
import { noSuchRealm, type RealmNeeds } from "./realms.ts";

/** Fields of a realm that change; those that are absent stay. */
interface Changes {
	name?: string | undefined;
	description?: string | undefined;
	/** Id or e-mail of the new owner. */
	owner?: string | undefined;
}

/**
 * Changes a realm's name, description or owner. Its owner does that and, once the owner's account is disabled, the instance admin. The new owner
 * must already be an admin of the realm; the old one stays as an admin, unless disabled.
 * @returns the realm as it is now
 * @throws AppError not_found, forbidden (not the owner), unsupported_operation (not a session), missing_field (nothing to change), conflict (the new
 * owner is no admin there), limit_reached
 * Design: §15
 */
export async function changeRealm(needs: RealmNeeds, actor: Actor, slug: string, changes: Changes): Promise<Realm> {
	const { role: _, ...realm } = await authorizeOwner(needs, actor, slug);
	const { owner, name = realm.name, description = realm.description } = changes;
	const changed = (["name", "description"] as const).filter((field) => changes[field] !== undefined);
	if (changed.length === 0 && owner === undefined)
		throw new AppError("missing_field", "name, description or owner is required");
	const user_id = owner === undefined ? realm.user_id : await idOf(needs, owner);
	const isOwner = realm.user_id === actor.user_id;
	const isTransfer = user_id !== realm.user_id;
	const now = needs.system.now();
	const kept = isTransfer && isOwner ? bindingOf(needs, realm, now) : undefined;
	const transfer = isTransfer ? { owner: user_id, was: realm.user_id, kept_role: kept?.role } : {};
	const facts = { ...transfer, changed: changed.length === 0 ? undefined : changed.join(",") };
	const event = eventBy(actor, now, isTransfer ? "realm.transferred" : "realm.updated", realm, facts);
	const by_owner = isOwner ? actor.user_id : undefined;
	const { realms_per_account } = needs;
	const after = { id: realm.id, name, description, user_id };
	const outcome = await needs.store.realms.change({ ...after, by_owner, kept, realms_per_account }, event);
	if (outcome !== "done") throw REFUSALS[outcome]();
	return { ...realm, ...after };
}

const REFUSALS = {
	realm_gone: noSuchRealm,
	not_owner: notOwner,
	not_heir: () =>
		new AppError(
			"conflict",
			"the new owner must be an enabled account with the role admin in this realm: `svc binding set` gives it",
		),
	limit_reached: () =>
		new LimitReached(
			"realms_per_account",
			"the new owner has no room for the realm: those of others fill at most half of limits.realms_per_account, which the instance admin raises with `svc users limits`",
		),
	user_limit_reached: () =>
		new LimitReached(
			"bindings_per_account",
			`you have roles in as many realms as an account may (bindings_per_account, ${MAX_MEMBERSHIPS}): leave one first with \`svc realm leave\``,
		),
};

/** Requires a session of the realm's owner or, when that account is disabled, of the instance admin. */
async function authorizeOwner(needs: RealmNeeds, actor: Actor, slug: string): Promise<RealmAccess> {
	if (actor.instance_admin && isUnrestricted(actor)) {
		const realm = await needs.store.realms.access(slug, actor.user_id);
		const owner = realm && (await needs.store.accounts.byId(realm.user_id));
		if (realm !== undefined && owner?.disabled_at !== null) {
			await requireInstanceAdmin(needs, actor, "write");
			requireSession(actor, "change a realm");
			return realm;
		}
	}
	const realm = await authorize(needs, actor, slug, { capability: "realms:manage", scope: "any" });
	requireSession(actor, "change a realm");
	if (realm.user_id !== actor.user_id) throw await logRefusal(needs, actor, notOwner(), "realms:manage", realm);
	return realm;
}

function notOwner(): AppError {
	return new AppError(
		"forbidden",
		"only the realm's owner can change it, and the instance admin while the owner's account is disabled",
	);
}

/** Finds a user's id by id or e-mail; empty when there is no such account. */
async function idOf({ store }: RealmNeeds, user: string): Promise<string> {
	const account = (await store.accounts.byId(user)) ?? (await store.accounts.byEmail(normalEmail(user)));
	return account?.id ?? "";
}

/** Makes the binding by which the owner of a realm stays its admin. */
function bindingOf({ system }: RealmNeeds, { id, user_id }: Realm, now: Date): Binding {
	const made = { realm_id: id, user_id, granted_by: user_id, created_at: now.toISOString() };
	return { id: system.uuid(), ...made, role: "admin" };
}
