import type { LeaseState, RevokeReason } from "./model.ts";

/** Facts known when a lease is about to begin. */
export interface BeginningFacts {
	isRealmLive: boolean;
	/** True if the configuration that admitted the caller is still current: another may serve other realms. */
	isConfigCurrent: boolean;
	/** True if anybody ever had the name at that target. */
	isNameTaken: boolean;
	/** Number of open leases of the configuration, counted up to its limit. */
	open: number;
	/** Number of open leases of the realm under the configuration of all realms, counted up to its limit. */
	openOfRealm: number;
}

/** Limits on open leases. */
export interface LeaseLimits {
	/** Limit of the configuration; null for none. */
	limit: number | null;
	/** Limit of the realm under the configuration of all realms; undefined for none. */
	realm_limit: number | undefined;
}

/** Decides whether a lease begins. Design: §9 */
export function decideBeginning(
	{ isRealmLive, isConfigCurrent, isNameTaken, open, openOfRealm }: BeginningFacts,
	{ limit, realm_limit }: LeaseLimits,
): "done" | "limit_reached" | "realm_limit_reached" | "name_taken" | "realm_gone" | "config_gone" {
	if (!isRealmLive) return "realm_gone";
	if (limit !== null && open >= limit) return "limit_reached";
	if (realm_limit !== undefined && openOfRealm >= realm_limit) return "realm_limit_reached";
	if (isNameTaken) return "name_taken";
	return isConfigCurrent ? "done" : "config_gone";
}

/** Facts known once a credential exists. */
export interface ActivationFacts {
	/** Reason for revoking it already; empty when there is none. */
	reason: RevokeReason | "";
	isRealmLive: boolean;
	/** True if its maker may still have it. */
	isMakerAdmitted: boolean;
}

/** Outcome for a lease whose credential exists. */
export interface Activation {
	answer: "done" | "realm_gone" | "lost";
	state: Extract<LeaseState, "active" | "revoking">;
	reason: RevokeReason | "";
}

/** Decides whether an existing credential is delivered or immediately revoked. Design: §9, §13 */
export function decideActivation({ reason: given, isRealmLive, isMakerAdmitted }: ActivationFacts): Activation {
	const reason = isRealmLive ? (isMakerAdmitted ? given : "requested") : "realm_deleted";
	if (reason === "") return { answer: "done", state: "active", reason };
	return { answer: isRealmLive ? "lost" : "realm_gone", state: "revoking", reason };
}
