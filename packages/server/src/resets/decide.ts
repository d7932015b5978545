import type { Account } from "../accounts/model.ts";
import type { Recovery } from "./model.ts";

type Target = Pick<Account, "password" | "disabled_at" | "instance_admin">;

/** Realms whose logs tell that a member's password was reset: the account's own first, then those that it was bound in earliest. */
export const MAX_TOLD_REALMS = 1000;

/** Decides whether a reset code is made. Without a password there is none to reset: single sign-on lets its owner in. Design: §15 */
export function decideReset(account: Target | undefined): "done" | "no_user" | "disabled" | "no_password" {
	if (account === undefined) return "no_user";
	if (account.disabled_at !== null) return "disabled";
	return account.password === null ? "no_password" : "done";
}

/**
 * Decides whether the machine's administrator gets a code for an account: it must manage the instance, or nobody does any more, or it lost its
 * second factor. Design: §15
 * @param others enabled instance admins besides it
 * @param drops_factors true to end its second factors, which gives it no rights
 */
export function decideRecovery(account: Target | undefined, others: number, drops_factors = false): Recovery {
	if (account === undefined) return { outcome: "no_user" };
	if (!account.instance_admin && others > 0 && !drops_factors) return { outcome: "not_admin" };
	return {
		outcome: "done",
		enabled: account.disabled_at !== null,
		made_admin: !account.instance_admin && others === 0,
		had_password: account.password !== null,
	};
}
