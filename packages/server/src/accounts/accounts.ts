import { type AuditStore, eventBy } from "../audit/model.ts";
import { hashPassword } from "../crypto/password.ts";
import type { SessionTokens } from "../crypto/session.ts";
import { AppError } from "../errors.ts";
import { type Asked, checkPassword, wrongPassword } from "../factors/owner.ts";
import { type AskedCodeNeeds, askForFactor, refuseUsedCode } from "../factors/use.ts";
import { normalEmail } from "../normal-text.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { requireInstanceAdmin, requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { Identity, SsoStore } from "../sso/model.ts";
import type { System } from "../system.ts";
import type { KnownSources } from "./known-sources.ts";
import type { Account, AccountLimits, AccountStore, Holdings } from "./model.ts";
import type { PasswordQueue } from "./password-queue.ts";
import type { Throttle } from "./throttle.ts";

/** Dependencies of the account rules. */
export interface AccountNeeds {
	store: AskedCodeNeeds["store"] & {
		accounts: AccountStore;
		audit: Pick<AuditStore, "append">;
		sso: Pick<SsoStore, "identitiesOf">;
	};
	system: System;
	keyring: AskedCodeNeeds["keyring"] & { cursorKey(): Buffer };
	sessions: SessionTokens;
	passwords: Pick<PasswordQueue, "run">;
	throttle: Throttle;
	known_sources: KnownSources;
}

/** An account as its owner and the instance admin see it. */
export interface Profile {
	id: string;
	email: string;
	name: string;
}

/** Ends the caller's session. @throws AppError unsupported_operation for API tokens. Design: §7.1, §7.2 */
export async function logout(needs: AccountNeeds, actor: Actor): Promise<void> {
	if (actor.jti === undefined) {
		throw new AppError("unsupported_operation", "an API token has no session: revoke it with `svc token revoke`");
	}
	await needs.store.accounts.closeSession(actor.jti, eventBy(actor, needs.system.now(), "auth.logout", undefined, {}));
}

/**
 * Changes the caller's password. The account's other sessions end; this one and its API tokens live on.
 * Only the source of this request stays known. Of simultaneous changes the first wins: it ended the
 * other sessions, and `current_password` is no longer the account's. Where the account has a second factor, the change uses up a code.
 * @throws AppError unsupported_operation (not a session), wrong_password (or no password), missing_field, wrong_code, rate_limited, unauthorized (the
 * session was ended meanwhile)
 * Design: §7.1, §7.2, §16
 */
export async function changePassword(
	needs: AccountNeeds,
	actor: Actor,
	input: { current_password: string; new_password: string } & Pick<Asked, "code" | "passkey">,
): Promise<void> {
	const keep = requireSession(actor, "change the password");
	const { store, system, known_sources } = needs;
	const change = await needs.throttle.attempt(needs.passwords, actor.email, actor.ip, async (failed) => {
		const from = await checkPassword(needs, actor, input.current_password, failed);
		return { from, password: await hashPassword(input.new_password) };
	});
	const factor = await askForFactor(needs, actor, { code: input.code, passkey: input.passkey });
	const known = known_sources.note(actor.email, actor.ip);
	const event = eventBy(actor, system.now(), "auth.password.changed", undefined, {});
	const outcome = await store.accounts.setPassword({ user_id: actor.user_id, ...change, keep, known, factor }, event);
	if (outcome === "used" && factor !== undefined) await refuseUsedCode(needs, actor, factor);
	if (outcome === "changed") throw wrongPassword();
}

/** Reads one page of all accounts. @throws AppError forbidden, insufficient_scope. Design: §7.1 */
export async function listUsers(
	needs: AccountNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: Account[]; pagination: Pagination }> {
	await requireInstanceAdmin(needs, actor, "read");
	return readPage(needs.keyring.cursorKey(), page, {
		list: "users",
		read: (after, limit) => needs.store.accounts.list(after ?? "", limit),
		position: (account) => account.id,
		count: () => needs.store.accounts.count(),
	});
}

/**
 * Reads one account: what it holds, its own limits, and the identities that sign in to it.
 * @param who id or e-mail
 * @throws AppError forbidden, insufficient_scope, not_found, validation_failed
 */
export async function getUser(
	needs: AccountNeeds,
	actor: Actor,
	who: string,
): Promise<Account & Holdings & { limits: AccountLimits; identities: Identity[] }> {
	await requireInstanceAdmin(needs, actor, "read");
	const { accounts } = needs.store;
	const account = (await accounts.byId(who)) ?? (await accounts.byEmail(normalEmail(who)));
	if (account === undefined) throw userNotFound();
	const holdings = await accounts.holdings(account.id, needs.system.now().toISOString());
	const identities = await needs.store.sso.identitiesOf(account.id);
	return { ...account, ...holdings, limits: await accounts.limits(account.id), identities };
}

/** Makes the answer for an account that does not exist. */
export function userNotFound(): AppError {
	return new AppError("not_found", "user not found: `svc users list` shows the accounts");
}
