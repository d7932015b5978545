import type { LeaseState, RevokeReason } from "./model.ts";

/** What is known when a lease is to begin. */
export interface BeginningFacts {
	isRealmLive: boolean;
	/** Whether the configuration that the caller was let in by is still the one that holds: another may serve other realms. */
	isConfigCurrent: boolean;
	/** Whether anybody ever had the name at that target. */
	isNameTaken: boolean;
	/** Open leases of the configuration. */
	open: number;
	/** Open leases of the realm under the configuration of all realms. */
	openOfRealm: number;
}

/** How many leases may be open. */
export interface LeaseLimits {
	/** Of the configuration; null for any number. */
	limit: number | null;
	/** Of the realm under the configuration of all realms; undefined for any number. */
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

/** What is known when a credential exists. */
export interface ActivationFacts {
	/** Why it is to be taken back already; empty when it is not. */
	reason: RevokeReason | "";
	isRealmLive: boolean;
	/** Whether its maker may still have it. */
	isMakerAdmitted: boolean;
}

/** What becomes of a lease whose credential exists. */
export interface Activation {
	answer: "done" | "realm_gone" | "lost";
	state: Extract<LeaseState, "active" | "revoking">;
	reason: RevokeReason | "";
}

/** Decides whether a credential that exists is given away, or taken back at once. Design: §9, §13 */
export function decideActivation({ reason: given, isRealmLive, isMakerAdmitted }: ActivationFacts): Activation {
	const reason = isRealmLive ? (isMakerAdmitted ? given : "requested") : "realm_deleted";
	if (reason === "") return { answer: "done", state: "active", reason };
	return { answer: isRealmLive ? "lost" : "realm_gone", state: "revoking", reason };
}
