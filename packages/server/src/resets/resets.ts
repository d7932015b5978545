import * as v from "valibot";
import { type Account, type AccountStore, Email } from "../accounts/model.ts";
import type { PasswordQueue } from "../accounts/password-queue.ts";
import type { Throttle } from "../accounts/throttle.ts";
import { type AuditStore, eventBy, type Visitor, visitorEvent } from "../audit/model.ts";
import { type CodeNeeds, digestsOf, isOneOf, newCode } from "../crypto/codes.ts";
import { hashPassword } from "../crypto/password.ts";
import { AppError } from "../errors.ts";
import { requireInstanceSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { type DroppedFactors, type ResetCode, type ResetStore, resetRow } from "./model.ts";

/** Dependencies of the rules about reset codes. */
export interface ResetNeeds extends CodeNeeds {
	store: { accounts: Pick<AccountStore, "byEmail">; audit: Pick<AuditStore, "append">; resets: ResetStore };
	system: System;
	passwords: Pick<PasswordQueue, "run">;
	throttle: Pick<Throttle, "attempt">;
}

/**
 * Makes a code with which somebody sets a new password of an account. The account's earlier code ends.
 * @returns the code, which is shown once, and its end
 * @throws AppError forbidden, unsupported_operation (not a session), not_found, conflict (oneself, disabled, or without a password)
 * Design: §15
 */
export async function createReset(
	needs: ResetNeeds,
	actor: Actor,
	user_id: string,
): Promise<{ code: string; expires_at: string }> {
	await requireInstanceSession(needs, actor, "make a reset code");
	if (user_id === actor.user_id) {
		throw new AppError("conflict", "you cannot reset your own password: `svc password` changes it");
	}
	const now = needs.system.now();
	const { code, digest } = newCode(needs, "reset");
	const row = resetRow({ user_id, digest, created_by: actor.user_id }, now);
	const { expires_at } = row;
	const event = eventBy(actor, now, "user.reset.created", undefined, { user_id, expires_at });
	refuseReset(await needs.store.resets.make(row, event));
	return { code, expires_at };
}

/**
 * Ends the second factors and recovery codes of somebody who lost them, and all sessions of the account. The password stays.
 * @throws AppError forbidden, unsupported_operation (not a session), not_found, conflict (oneself)
 * Design: §16
 */
export async function dropFactors(needs: ResetNeeds, actor: Actor, user_id: string): Promise<DroppedFactors> {
	await requireInstanceSession(needs, actor, "end somebody's second factors");
	// Of one's own account, only the password and a code remove a factor: a stolen session must not.
	if (user_id === actor.user_id)
		throw new AppError("conflict", "this is your own account: `svc factor remove` removes a second factor of yours");
	const event = eventBy(actor, needs.system.now(), "user.factors.dropped", undefined, { user_id });
	const dropped = await needs.store.resets.dropFactors(user_id, event);
	if (dropped === undefined) throw noUser();
	return dropped;
}

function refuseReset(outcome: "done" | "no_user" | "disabled" | "no_password"): void {
	if (outcome === "no_user") throw noUser();
	if (outcome === "disabled") {
		throw new AppError("conflict", "the account is disabled: enable it first with `svc users enable`");
	}
	if (outcome === "no_password") {
		throw new AppError("conflict", "the account has no password: its owner signs in at a provider");
	}
}

function noUser(): AppError {
	return new AppError("not_found", "user not found: `svc users list` shows the accounts");
}

/**
 * Sets a new password with a reset code, which is used up, and ends all sessions of the account. API tokens and linked identities stay. Unknown e-mail,
 * disabled account, and a code that is wrong, used, replaced or expired give the same answer.
 * @throws AppError invalid_credentials, rate_limited, overloaded
 * Design: §15
 */
export function resetPassword(
	needs: ResetNeeds,
	visitor: Visitor,
	input: { email: string; code: string; new_password: string },
): Promise<void> {
	return needs.throttle.attempt(needs.passwords, input.email, visitor.ip, async (failed) => {
		const account = await needs.store.accounts.byEmail(input.email);
		if (account !== undefined && (await tryReset(needs, visitor, account, input))) return;
		if (account === undefined) await rightCode(needs, "", input.code);
		await failed();
		const facts = { method: "reset", reason: account === undefined ? "unknown" : "code" };
		const actor = account?.id ?? (v.is(Email, input.email) ? input.email : "unknown");
		await needs.store.audit.append(visitorEvent(visitor, needs.system.now(), "auth.login.failed", actor, facts));
		throw new AppError("invalid_credentials", "invalid email or code: the instance admin makes a new code");
	});
}

async function tryReset(
	needs: ResetNeeds,
	visitor: Visitor,
	{ id: user_id, disabled_at }: Account,
	{ code, new_password }: { code: string; new_password: string },
): Promise<boolean> {
	const right = await rightCode(needs, user_id, code);
	if (right === undefined || disabled_at !== null) return false;
	const password = await hashPassword(new_password);
	const now = needs.system.now();
	const facts = { user_id, made_by: right.created_by };
	const event = visitorEvent(visitor, now, "auth.password.reset", user_id, facts);
	const use = { user_id, digest: right.digest, password, at: now.toISOString() };
	return (await needs.store.resets.use(use, event)) === "done";
}

/** Finds the account's code if the typed one is it. */
async function rightCode(needs: ResetNeeds, user_id: string, typed: string): Promise<ResetCode | undefined> {
	const digests = digestsOf(needs, "reset", typed);
	const row = await needs.store.resets.ofUser(user_id, needs.system.now().toISOString());
	return isOneOf(digests, row?.digest ?? NO_DIGEST) ? row : undefined;
}

/** No code has this digest. */
const NO_DIGEST = Buffer.alloc(32);
