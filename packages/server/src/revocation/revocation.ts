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
import type { RevocationStore, Revoked } from "./model.ts";

/** What taking access back needs. */
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
 * Takes back at once what a user holds: sessions, API tokens and credentials of engines. Of a realm: the API tokens that are limited to it,
 * and its credentials; sessions are for no realm. Of both: what they have in common. What asks stays, so that whoever revokes themselves
 * in an emergency is not locked out in the middle of it. Nobody is disabled by it: who knows a password can sign in again.
 * @throws AppError forbidden, insufficient_scope, validation_failed, not_found (user or realm)
 * Design: §6, §9
 */
export async function revokeAccess(
	needs: RevocationNeeds,
	actor: Actor,
	{ user_id, realm: slug }: { user_id: string | undefined; realm: string | undefined },
): Promise<Revoked> {
	await requireInstanceAdmin(needs, actor, "delete");
	if (user_id === undefined && slug === undefined)
		throw new AppError("validation_failed", "at least one of user_id and realm is needed");
	if (user_id !== undefined && (await needs.store.accounts.byId(user_id)) === undefined)
		throw new AppError("not_found", "user not found: `svc users list` shows the accounts");
	const realm = slug === undefined ? undefined : await needs.store.realms.access(slug, actor.user_id);
	if (slug !== undefined && realm === undefined) throw realmNotFound();
	const event = eventBy(actor, needs.system.now(), "access.revoked", realm, { user_id });
	const keep = actor.jti ?? actor.token_id ?? "";
	const what = { user_id, realm_id: realm?.id, keep, now_ms: needs.clock.now() };
	const revoked = await needs.store.revocations.revoke(what, event);
	needs.reaper.wake();
	return revoked;
}
