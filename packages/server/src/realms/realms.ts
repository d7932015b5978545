import type { AccountStore } from "../accounts/model.ts";
import { eventBy } from "../audit/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { AppError, LimitReached } from "../errors.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { type AccessNeeds, authorize, requireScope, requireUnrestricted } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { PURGE_AFTER_DAYS, type Realm, type RealmStore } from "./model.ts";

/** Dependencies of the realm rules. */
export interface RealmNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { realms: RealmStore; accounts: Pick<AccountStore, "byId" | "byEmail"> };
	system: System;
	keyring: Pick<Keyring, "withNewKey" | "forgetRealm" | "cursorKey">;
	/** Realms that an account may own, unless it has its own limit. */
	realms_per_account: number;
}

/**
 * Makes a realm, owned by the caller, with its own record key.
 * @throws AppError insufficient_scope, conflict (slug taken by a live realm), limit_reached
 * Spec: API › Realms
 */
export async function createRealm(
	needs: RealmNeeds,
	actor: Actor,
	input: { slug: string; name: string; description: string },
): Promise<Realm> {
	await requireScope(needs, actor, "write");
	await requireUnrestricted(needs, actor);
	const now = needs.system.now();
	const realm = { id: needs.system.uuid(), ...input, user_id: actor.user_id, created_at: now.toISOString() };
	const event = eventBy(actor, now, "realm.created", { id: realm.id, slug: realm.slug }, {});
	const outcome = await needs.keyring.withNewKey("record", realm.id, (key) =>
		needs.store.realms.create({ realm, key, realms_per_account: needs.realms_per_account }, event),
	);
	if (outcome === "slug_taken")
		throw new AppError("conflict", "a realm with this slug already exists: choose another slug");
	if (outcome === "limit_reached") throw tooManyRealms();
	return realm;
}

function tooManyRealms(): AppError {
	return new LimitReached(
		"realms_per_account",
		`the account has reached its limit of realms (limits.realms_per_account, including those deleted in the last ${PURGE_AFTER_DAYS} days): ask the instance admin to raise it with \`svc users limits\``,
	);
}

/** Reads one page of the realms that the caller owns or has a role in. Spec: API › Realms */
export async function listRealms(
	needs: RealmNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: Realm[]; pagination: Pagination }> {
	await requireScope(needs, actor, "read");
	const only = actor.realm_id ?? undefined;
	return readPage(needs.keyring.cursorKey(), page, {
		list: `realms ${actor.user_id} ${only ?? ""}`,
		read: (after, limit) => needs.store.realms.list(actor.user_id, only, after ?? "", limit),
		position: (realm) => realm.id,
		count: () => needs.store.realms.count(actor.user_id, only),
	});
}

/** Reads a realm. @throws AppError not_found, insufficient_scope. Spec: API › Realms */
export async function getRealm(needs: RealmNeeds, actor: Actor, slug: string): Promise<Realm> {
	const { role: _, ...realm } = await authorize(needs, actor, slug, { capability: "secrets:read" });
	return realm;
}

/**
 * Soft-deletes a realm with everything in it: from then on nothing in it can be reached, and its slug is free. It can be restored for 30 days.
 * @throws AppError not_found, forbidden, insufficient_scope
 * Spec: API › Realms, States and transitions
 */
export async function deleteRealm(needs: RealmNeeds, actor: Actor, slug: string): Promise<void> {
	const realm = await authorize(needs, actor, slug, {
		capability: "realms:manage",
		scope: "delete",
		isAdminOnly: true,
	});
	const now = needs.system.now();
	const event = eventBy(actor, now, "realm.deleted", realm, {});
	if (!(await needs.store.realms.remove({ id: realm.id, deleted_at: now.toISOString() }, event))) throw noSuchRealm();
	needs.keyring.forgetRealm(realm.id);
	await needs.store.realms.endRestricted(realm.id);
}

/** Makes the answer for a realm that was deleted while the request came. */
export function noSuchRealm(): AppError {
	return new AppError("not_found", "realm not found: it has just been deleted");
}
