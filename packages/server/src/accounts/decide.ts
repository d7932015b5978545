import { type Account, MAX_KNOWN_SOURCES, MAX_SESSIONS, type OwnerProof, type StatusOutcome } from "./model.ts";

/** Terms of a registration. */
export interface Registration {
	instance_admin: boolean;
	/** Refuses every account but the first. */
	only_first?: boolean;
	/** Refuses the account when this many exist. */
	most?: number;
}

/** Facts known when an account is registered. */
export interface RegistrationFacts {
	isFirst: boolean;
	isEmailTaken: boolean;
	/** Existing accounts. */
	count: number;
}

/** Decides whether an account is made, and whether it manages the instance: the very first does, whatever was asked. Design: §6 */
export function decideRegistration(
	{ instance_admin, only_first = false, most }: Registration,
	{ isFirst, isEmailTaken, count }: RegistrationFacts,
):
	| { outcome: "done"; first: boolean; instance_admin: boolean }
	| { outcome: "email_taken" | "not_first" | "limit_reached" } {
	if (only_first && !isFirst) return { outcome: "not_first" };
	if (isEmailTaken) return { outcome: "email_taken" };
	if (most !== undefined && count >= most) return { outcome: "limit_reached" };
	return { outcome: "done", first: isFirst, instance_admin: isFirst || instance_admin };
}

/** Status of an account, as it is or as a change would leave it. */
type AccountStatus = Pick<Account, "instance_admin" | "disabled_at">;

/**
 * Decides whether an account's status changes: an instance keeps an admin who is enabled. Design: §15
 * @param before undefined when there is no such account
 * @param others enabled instance admins besides it
 */
export function decideStatusChange(
	before: AccountStatus | undefined,
	after: AccountStatus,
	others: number,
): StatusOutcome {
	if (before === undefined) return "no_user";
	const isLost = manages(before) && !manages(after);
	return isLost && others === 0 ? "last_admin" : "done";
}

const manages = ({ instance_admin, disabled_at }: AccountStatus): boolean => instance_admin && disabled_at === null;

/** Decides how many of an account's sessions, the oldest first, end before a new one is opened. @param count its sessions. Design: §13 */
export function sessionsToEnd(count: number): number {
	return Math.max(0, count + 1 - MAX_SESSIONS);
}

/** Decides how many of an account's known sources, the longest unseen first, are forgotten. @param count its sources. Design: §13 */
export function sourcesToForget(count: number): number {
	return Math.max(0, count - MAX_KNOWN_SOURCES);
}

/**
 * Decides whether a proof of an account's ownership still holds: the stored password or, for an account without one, an identity at the
 * session's provider. Design: §13
 * @param providers of the account's identities
 * @param signed_in_at the session's provider; empty for a sign-in with a password, undefined when the session has ended
 */
export function isProofOf(
	account: Pick<Account, "password"> | undefined,
	proof: OwnerProof,
	providers: readonly string[],
	signed_in_at: string | undefined,
): boolean {
	if (account === undefined || account.password !== proof.password) return false;
	return account.password !== null || (signed_in_at !== undefined && providers.includes(signed_in_at));
}
