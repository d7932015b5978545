import type { AccountStore, OwnerProof } from "../accounts/model.ts";
import type { PasswordQueue } from "../accounts/password-queue.ts";
import type { Failed, Throttle } from "../accounts/throttle.ts";
import { type AuditStore, noteBy } from "../audit/model.ts";
import { verifyPassword } from "../crypto/password.ts";
import { AppError } from "../errors.ts";
import { logRefusal, requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { SsoStore } from "../sso/model.ts";
import type { System } from "../system.ts";
import { type AskedCodeNeeds, askForFactor, refuseUsedCode, type SignedPasskey } from "./use.ts";

/** Parts of the store that comparing a password again uses. */
interface CheckedStore {
	accounts: Pick<AccountStore, "byId">;
	audit: Pick<AuditStore, "append">;
}

/** Dependencies of proving that a session is in its owner's hands. */
export interface OwnerNeeds {
	store: CheckedStore & { accounts: Pick<AccountStore, "session">; sso: Pick<SsoStore, "identitiesOf"> };
	system: Pick<System, "now">;
	/** The queue of the accounts' own passwords. */
	passwords: Pick<PasswordQueue, "run">;
	throttle: Pick<Throttle, "attempt">;
}

/** Milliseconds for which a sign-in or a confirmation shows who somebody is. Design: §13, §16 */
export const RECENT_MS = 5 * 60 * 1000;

/**
 * Asks the holder of a session for what only its owner has: the account's password or, without one, a recent sign-in at a provider, which says
 * itself when that was. The session must have begun at one that the account is still linked with.
 * @throws AppError unsupported_operation (not a session), missing_field, wrong_password, forbidden (signed in too long ago), rate_limited
 * Design: §13
 */
export async function proveOwner(
	needs: OwnerNeeds,
	actor: Actor,
	current_password: string | undefined,
	doing: string,
): Promise<OwnerProof> {
	const jti = requireSession(actor, doing);
	const account = await needs.store.accounts.byId(actor.user_id);
	if (account === undefined || account.password !== null) {
		if (current_password === undefined) throw new AppError("missing_field", "current_password is required");
		const password = await needs.throttle.attempt(needs.passwords, actor.email, actor.ip, (failed) =>
			checkPassword(needs, actor, current_password, failed),
		);
		return { password, jti };
	}
	const session = await needs.store.accounts.session(jti);
	const identities = await needs.store.sso.identitiesOf(actor.user_id);
	const isLinked = identities.some(({ provider }) => provider === session?.provider);
	if (isLinked && isConfirmed(actor, needs.system.now())) return { password: null, jti };
	throw await logRefusal(needs, actor, notRecent(), "owner");
}

/**
 * Tells whether a provider has said within 5 minutes that the session's owner signed in there: the age of the session shows nothing, as a provider
 * may let a browser through that it knows.
 */
export function isConfirmed({ confirmed_at = 0 }: Pick<Actor, "confirmed_at">, now: Date): boolean {
	return confirmed_at > now.getTime() - RECENT_MS;
}

/** Dependencies of asking the owner for a second-factor code as well. */
export interface CodeOwnerNeeds extends OwnerNeeds {
	store: OwnerNeeds["store"] & AskedCodeNeeds["store"];
	keyring: AskedCodeNeeds["keyring"];
	throttle: AskedCodeNeeds["throttle"];
}

/** Proof required by a change of how people sign in. */
export interface Asked {
	current_password?: string | null | undefined;
	code?: string | null | undefined;
	/** Signed by a passkey, in place of the code. */
	passkey?: SignedPasskey | undefined;
}

/**
 * Requires the proof of `proveOwner` and, if the account has a password and a second factor, a code, which the change uses up.
 * @param field name of the field with the code, for the error
 * @throws AppError as proveOwner; missing_field, wrong_code
 * Design: §16
 */
export async function proveOwnerByCode(
	needs: CodeOwnerNeeds,
	actor: Actor,
	{ current_password, ...factor }: Asked,
	doing: string,
	field?: string,
): Promise<OwnerProof> {
	const proof = await proveOwner(needs, actor, current_password ?? undefined, doing);
	// An account without a password has its second factor, if any, at its provider.
	return proof.password === null ? proof : { ...proof, factor: await askForFactor(needs, actor, factor, field) };
}

/** Refuses a change whose code another request has used up. @throws AppError wrong_code, rate_limited */
export async function refuseUsed(needs: CodeOwnerNeeds, actor: Actor, { factor }: OwnerProof): Promise<void> {
	if (factor !== undefined) await refuseUsedCode(needs, actor, factor);
}

/** Makes the answer to an owner who has no password and did not sign in recently. */
export function notRecent(): AppError {
	return new AppError(
		"forbidden",
		"the account has no password: sign in again at a linked provider, which must ask who you are (`svc login --sso PROVIDER --again`), then repeat this within 5 minutes",
	);
}

/**
 * Compares the account's password again.
 * @param failed called when it is wrong
 * @returns its hash
 * @throws AppError wrong_password
 */
export async function checkPassword(
	{ store, system }: Pick<OwnerNeeds, "system"> & { store: CheckedStore },
	actor: Actor,
	password: string,
	failed: Failed,
): Promise<string> {
	const stored = (await store.accounts.byId(actor.user_id))?.password ?? undefined;
	if ((await verifyPassword(stored, password)) && stored !== undefined) return stored;
	await failed();
	const facts = { method: "password.change", reason: "password" };
	await store.audit.append(noteBy(actor, system.now(), "auth.login.failed", undefined, facts));
	throw wrongPassword();
}

/** Makes the answer to a wrong password. */
export function wrongPassword(): AppError {
	return new AppError("wrong_password", "current_password is wrong");
}
