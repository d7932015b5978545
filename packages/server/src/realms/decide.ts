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
