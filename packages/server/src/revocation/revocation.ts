import type { AccountStore } from "../accounts/model.ts";
import { eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { LeaseClock } from "../leases/clock.ts";
import type { Reaper } from "../leases/reaper.ts";
import { type RefusalNeeds, requireInstanceAdmin } from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmStore } from "../realms/model.ts";
import type { System } from "../system.ts";
import { RECENTLY_MADE_MS, type RevocationStore, type Revoked } from "./model.ts";

/** Dependencies of a revocation. */
export interface RevocationNeeds extends RefusalNeeds {
	store: RefusalNeeds["store"] & {
		accounts: Pick<AccountStore, "byId">;
		realms: Pick<RealmStore, "access">;
		revocations: RevocationStore;
	};
	system: System;
	clock: Pick<LeaseClock, "now">;
	reaper: Pick<Reaper, "wake">;
}

/**
 * Revokes immediately what a user holds: sessions, API tokens, credentials of engines, and identities linked in the last 30 days, except for the
 * one that made the account: an intruder may have linked their own. For a realm: the API tokens that are limited to it, and its credentials;
 * sessions belong to no realm. For both: what they have in common. The session or token of the request stays, so that you are not locked out when
 * you revoke yourself in an emergency. It disables nobody: anybody who knows a password can sign in again.
 * @throws AppError forbidden, insufficient_scope, validation_failed, not_found (user or realm)
 * Design: §6, §9
 */
export async function revokeAccess(
	needs: RevocationNeeds,
	actor: Actor,
	{ user_id, realm: slug, keep_links }: { user_id: string | undefined; realm: string | undefined; keep_links: boolean },
): Promise<Revoked> {
	await requireInstanceAdmin(needs, actor, "delete");
	if (user_id === undefined && slug === undefined)
		throw new AppError("validation_failed", "at least one of user_id and realm is needed");
	if (user_id !== undefined && (await needs.store.accounts.byId(user_id)) === undefined)
		throw new AppError("not_found", "user not found: `svc users list` shows the accounts");
	const realm = slug === undefined ? undefined : await needs.store.realms.access(slug, actor.user_id);
	if (slug !== undefined && realm === undefined) throw realmNotFound();
	const now = needs.system.now();
	const event = eventBy(actor, now, "access.revoked", realm, { user_id });
	const keep = actor.jti ?? actor.token_id ?? "";
	const links_since = keep_links ? undefined : new Date(now.getTime() - RECENTLY_MADE_MS).toISOString();
	const what = { user_id, realm_id: realm?.id, keep, links_since, now_ms: needs.clock.now() };
	const revoked = await needs.store.revocations.revoke(what, event);
	needs.reaper.wake();
	return revoked;
}
