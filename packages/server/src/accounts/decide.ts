import type { Account, OwnerProof } from "./model.ts";

/** What is asked of a registration. */
export interface Registration {
	instance_admin: boolean;
	/** It is the first account, or none. */
	only_first?: boolean;
	/** None when there are as many. */
	most?: number;
}

/** What is known when an account is registered. */
export interface RegistrationFacts {
	isFirst: boolean;
	isEmailTaken: boolean;
	/** Accounts that there are. */
	count: number;
}

/** Decides whether an account is made, and whether it manages the instance: the first of all does, whatever was asked. Design: §6 */
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

/**
 * Decides whether what showed that somebody owns an account still does: the password that is kept, or for an account without one an identity at
 * the provider of the session. Design: §13
 * @param providers of the account's identities
 * @param signed_in_at the provider of the session; empty for a password's, undefined when it has ended
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
