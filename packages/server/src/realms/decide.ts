import { MAX_MEMBERSHIPS } from "../policy/model.ts";
import type { ChangeOutcome, RealmChange } from "./model.ts";

/** Facts known when a realm is to be made. */
export interface RealmFacts {
	/** True if a live realm has the slug. */
	isSlugTaken: boolean;
	/** Realms of the owner, including deleted ones that are not yet purged. */
	owned: number;
	/** The owner's own limit; null where the setting applies. */
	own_limit: number | null;
}

/** Decides whether a realm is made. @param realms_per_account the limit in the settings. Design: §13 */
export function decideRealm(
	{ isSlugTaken, owned, own_limit }: RealmFacts,
	realms_per_account: number,
): "done" | "slug_taken" | "limit_reached" {
	if (isSlugTaken) return "slug_taken";
	return owned >= (own_limit ?? realms_per_account) ? "limit_reached" : "done";
}

/** Facts known when a realm is to be changed. The last three concern a new owner only. */
export interface ChangeFacts extends Pick<RealmFacts, "owned" | "own_limit"> {
	/** Undefined when no such realm lives. */
	owner_id: string | undefined;
	isOwnerEnabled: boolean;
	/** True if the new owner is an enabled account with the role admin in the realm. */
	isHeir: boolean;
	/** Bindings of the current owner. */
	memberships: number;
}

/**
 * Decides whether a realm changes. A new owner need not have agreed, so other people's realms fill at most half of its limit. Design: §13, §15
 * @param change with the owner as it should be
 */
export function decideChange(
	{ user_id, by_owner, kept, realms_per_account }: RealmChange,
	{ owner_id, isOwnerEnabled, isHeir, owned, own_limit, memberships }: ChangeFacts,
): ChangeOutcome {
	if (owner_id === undefined) return "realm_gone";
	if (by_owner === undefined ? isOwnerEnabled : by_owner !== owner_id) return "not_owner";
	if (user_id === owner_id) return "done";
	if (!isHeir) return "not_heir";
	const limit = own_limit ?? realms_per_account;
	if (owned >= (by_owner === undefined ? limit : limit / 2)) return "limit_reached";
	return kept !== undefined && memberships >= MAX_MEMBERSHIPS ? "user_limit_reached" : "done";
}
