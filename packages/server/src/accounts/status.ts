import { eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { requireInstanceAdmin, requireInstanceSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { type AccountNeeds, userNotFound } from "./accounts.ts";
import type { Account, StatusOutcome } from "./model.ts";

/**
 * Disables an account, which ends its sessions and suspends its API tokens, or enables it again.
 * @throws AppError forbidden, insufficient_scope, not_found, conflict (oneself, or the last instance admin)
 * Design: §7.1, §7.2
 */
export async function setDisabled(
	needs: AccountNeeds,
	actor: Actor,
	user_id: string,
	isDisabled: boolean,
): Promise<void> {
	await requireInstanceAdmin(needs, actor, "write");
	if (user_id === actor.user_id && isDisabled) {
		throw new AppError("conflict", "you cannot disable your own account: nobody could enable it again");
	}
	const now = needs.system.now();
	const event = eventBy(actor, now, isDisabled ? "user.disabled" : "user.enabled", undefined, { user_id });
	const disabled_at = isDisabled ? now.toISOString() : null;
	refuseStatus(await needs.store.accounts.setDisabled({ user_id, disabled_at }, event));
}

/**
 * Makes an account an instance admin, or removes that right. A token cannot: a stolen one must not outlive its end.
 * @returns the account as it is now
 * @throws AppError forbidden, unsupported_operation (not a session), not_found, conflict (the last enabled one)
 * Design: §15
 */
export async function setAdmin(
	needs: AccountNeeds,
	actor: Actor,
	user_id: string,
	instance_admin: boolean,
): Promise<Account> {
	await requireInstanceSession(needs, actor, "change who administers the instance");
	const event = eventBy(actor, needs.system.now(), "user.admin.set", undefined, { user_id, instance_admin });
	refuseStatus(await needs.store.accounts.setAdmin({ user_id, instance_admin }, event));
	const account = await needs.store.accounts.byId(user_id);
	if (account === undefined) throw userNotFound();
	return account;
}

function refuseStatus(outcome: StatusOutcome): void {
	if (outcome === "no_user") throw userNotFound();
	if (outcome === "last_admin") {
		throw new AppError(
			"conflict",
			"this is the last enabled instance admin: make another one first with `svc users admin`",
		);
	}
}
