import { eventBy } from "../audit/model.ts";
import { requireInstanceAdmin } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { type AccountNeeds, userNotFound } from "./accounts.ts";
import type { AccountLimits } from "./model.ts";

/**
 * Gives an account its own limits instead of those in the settings; null restores the setting. Anything already over a limit stays.
 * @throws AppError forbidden, insufficient_scope, not_found
 * Design: §13
 */
export async function setLimits(
	needs: AccountNeeds,
	actor: Actor,
	user_id: string,
	{ realm_bytes, realms }: AccountLimits,
): Promise<AccountLimits> {
	await requireInstanceAdmin(needs, actor, "write");
	const limits = { realm_bytes, realms };
	const facts = { user_id, realm_bytes: realm_bytes ?? "default", realms: realms ?? "default" };
	const event = eventBy(actor, needs.system.now(), "user.limits.set", undefined, facts);
	if (!(await needs.store.accounts.setLimits({ user_id, ...limits }, event))) throw userNotFound();
	return limits;
}
