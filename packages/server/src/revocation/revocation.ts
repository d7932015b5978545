import type { AccountStore } from "../accounts/model.ts";
import { type AuditEvent, eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { LeaseClock } from "../leases/clock.ts";
import type { Reaper } from "../leases/reaper.ts";
import { type RefusalNeeds, requireInstanceAdmin } from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmStore } from "../realms/model.ts";
import type { Identity, SsoStore } from "../sso/model.ts";
import type { System } from "../system.ts";
import { type Made, RECENTLY_MADE_MS, type Revocation, type RevocationStore, type Revoked } from "./model.ts";

/** Dependencies of a revocation. */
export interface RevocationNeeds extends RefusalNeeds {
	store: RefusalNeeds["store"] & {
		accounts: Pick<AccountStore, "byId">;
		realms: Pick<RealmStore, "access">;
		revocations: RevocationStore;
		sso: Pick<SsoStore, "identitiesOf">;
	};
	system: System;
	clock: Pick<LeaseClock, "now">;
	reaper: Pick<Reaper, "wake">;
}

/** Subject of a revocation, as a request names it. */
interface Request {
	user_id: string | undefined;
	/** Slug. */
	realm: string | undefined;
	keep_links: boolean;
	with_made: boolean;
}

/** The instant from which on what a user made is recent. */
const sinceOf = (now: Date) => new Date(now.getTime() - RECENTLY_MADE_MS).toISOString();

async function requireUser({ store }: RevocationNeeds, user_id: string): Promise<void> {
	if ((await store.accounts.byId(user_id)) === undefined)
		throw new AppError("not_found", "user not found: `svc users list` shows the accounts");
}

/**
 * Shows what a user made for others to use in the last 30 days and that still exists; and the identities linked with the account in that time, which a
 * revocation removes.
 * @throws AppError forbidden, insufficient_scope, not_found
 * Design: §15
 */
export async function listMade(
	needs: RevocationNeeds,
	actor: Actor,
	user_id: string,
): Promise<Made & { identities: Identity[] }> {
	await requireInstanceAdmin(needs, actor, "read");
	await requireUser(needs, user_id);
	const now = needs.system.now();
	const since = sinceOf(now);
	const made = await needs.store.revocations.made(user_id, since, now.toISOString());
	const identities = await needs.store.sso.identitiesOf(user_id);
	return { ...made, identities: identities.filter((one) => !one.made_account && one.created_at > since) };
}

/**
 * Revokes immediately what a user holds: sessions, API tokens, credentials of engines, and identities linked in the last 30 days, except for the
 * one that made the account: an intruder may have linked their own. For a realm: the API tokens that are limited to it, and its credentials;
 * sessions belong to no realm. For both: what they have in common. The session or token of the request stays, so that you are not locked out when
 * you revoke yourself in an emergency. With what a user made, the machines, their tokens and trusts, and the
 * invitations of the last 30 days end, too; thousands of them in parts, each with an event. It disables nobody: anybody who knows a password can sign in again.
 * @throws AppError forbidden, insufficient_scope, validation_failed, not_found (user or realm)
 * Design: §6, §9
 */
export async function revokeAccess(
	needs: RevocationNeeds,
	actor: Actor,
	{ user_id, realm: slug, keep_links, with_made }: Request,
): Promise<Omit<Revoked, "more">> {
	await requireInstanceAdmin(needs, actor, "delete");
	if (user_id === undefined && slug === undefined)
		throw new AppError("validation_failed", "at least one of user_id and realm is needed");
	if (with_made && (user_id === undefined || slug !== undefined))
		throw new AppError("validation_failed", "with_made needs a user, and no realm");
	if (user_id !== undefined) await requireUser(needs, user_id);
	const realm = slug === undefined ? undefined : await needs.store.realms.access(slug, actor.user_id);
	if (slug !== undefined && realm === undefined) throw realmNotFound();
	const now = needs.system.now();
	const event = eventBy(actor, now, "access.revoked", realm, { user_id, ...(with_made && { with_made }) });
	const keep = actor.jti ?? actor.token_id ?? "";
	const since = sinceOf(now);
	const [links_since, made_since] = [keep_links ? undefined : since, with_made ? since : undefined];
	const what = { user_id, realm_id: realm?.id, keep, links_since, made_since, now_ms: needs.clock.now() };
	try {
		return await revokeInParts(needs.store.revocations, what, event);
	} finally {
		needs.reaper.wake();
	}
}

/** Revokes part after part. @returns the counts of all */
async function revokeInParts(
	revocations: RevocationStore,
	what: Revocation,
	event: AuditEvent,
): Promise<Omit<Revoked, "more">> {
	let { more, ...total } = await revocations.revoke(what, event);
	while (more) {
		const { more: isLeft, ...part } = await revocations.revoke({ ...what, isFurther: true }, event);
		const counts = Object.entries(part).map(([name, count]) => [name, count + (total[name as keyof typeof part] ?? 0)]);
		total = Object.fromEntries(counts);
		more = isLeft;
	}
	return total;
}
