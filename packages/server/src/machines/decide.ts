import type { Role } from "../policy/model.ts";
import { MAX_MACHINE_TOKENS, MAX_MACHINES, MAX_TRUSTED_TOKENS, type Machine } from "./model.ts";

/**
 * Names the account that a machine counts toward: its maker, as long as the maker is an admin of the realm. Afterwards others control the machine, so it
 * counts toward a quota of its own, which all machines that this maker left behind share: it uses up neither the maker's nor the realm owner's quota.
 * Design: §13
 * @param role of the maker in the realm
 */
export function payerOf({ created_by }: Pick<Machine, "created_by">, role: Role | null): string {
	return role === "admin" ? created_by : `former ${created_by}`;
}

/** Writes a machine's limits as one text: a change is made only while they are as they were when the machine was let in. */
export function limitsText({
	scopes,
	environment,
	engines,
}: Pick<Machine, "scopes" | "environment" | "engines">): string {
	return JSON.stringify([scopes, environment, engines]);
}

/** Facts known when a machine is to be made or changed. */
export interface MachineFacts {
	isRealmLive: boolean;
	/** True if the realm has a machine of that name. */
	isThere: boolean;
	/** Machines of the realm. */
	count: number;
}

/** Decides whether a machine is made or changed. Design: §13 */
export function decideMachine({ isRealmLive, isThere, count }: MachineFacts): "done" | "realm_gone" | "limit_reached" {
	if (!isRealmLive) return "realm_gone";
	return !isThere && count >= MAX_MACHINES ? "limit_reached" : "done";
}

/** Tokens that a machine has. */
export interface HeldMachineTokens {
	/** Tokens of the new one's kind that have not expired: a person's, or those of trusts. */
	live: number;
	/** Tokens of both kinds that have expired and are still kept. */
	expired: number;
}

/** Decides whether a machine gets one more token, and how many of its expired ones, the earliest first, are forgotten then. Design: §13 */
export function decideMachineToken(
	isByTrust: boolean,
	{ live, expired }: HeldMachineTokens,
): { outcome: "done"; forgotten: number } | { outcome: "limit_reached" } {
	if (live >= (isByTrust ? MAX_TRUSTED_TOKENS : MAX_MACHINE_TOKENS)) return { outcome: "limit_reached" };
	return { outcome: "done", forgotten: Math.max(0, expired - MAX_MACHINE_TOKENS) };
}
