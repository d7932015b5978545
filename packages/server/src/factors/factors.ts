import type { KnownSource } from "../accounts/model.ts";
import { eventBy } from "../audit/model.ts";
import { newRecoveryCodes } from "../crypto/codes.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { AppError, LimitReached } from "../errors.ts";
import { requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { isConfirmed, splitDigests } from "./decide.ts";
import {
	type Factor,
	type FactorOwner,
	type FactorStore,
	MAX_FACTORS,
	type ProofOutcome,
	pendingCutoff,
	RECOVERY_CODES,
	type RecoveryCodes,
} from "./model.ts";
import { type Asked, type OwnerNeeds, proveOwnerByCode } from "./owner.ts";
import { describeTotp, newTotpSecret, stepOf } from "./totp.ts";
import { type AskedCodeNeeds, checkedCode, openFactor, refuseUsedCode, sealFactor, withOwnName } from "./use.ts";

/** Dependencies of the rules about second factors. */
export interface FactorNeeds extends OwnerNeeds {
	store: OwnerNeeds["store"] & { factors: FactorStore };
	system: System;
	keyring: Pick<Keyring, "record" | "recordFor" | "session">;
	throttle: AskedCodeNeeds["throttle"];
	known_sources: { note(account: string, ip: string): KnownSource };
	/** Address at which people reach this server: an authenticator app shows its host. */
	address(): string;
}

/** Lists the account's second factors, and the number of its unused recovery codes. @throws AppError unsupported_operation. Design: §16 */
export async function listFactors(
	needs: FactorNeeds,
	actor: Actor,
): Promise<{ factors: Factor[]; recovery_codes_left: number }> {
	requireSession(actor, "see the second factors of its account");
	const codes = await needs.store.factors.recoveryCodes(actor.user_id);
	const rows = await needs.store.factors.ofUser(actor.user_id);
	const factors = await Promise.all(rows.map((row) => withOwnName(needs, row)));
	return { factors, recovery_codes_left: codes === undefined ? 0 : splitDigests(codes.digests).length };
}

/**
 * Makes the secret of a second factor, shown once. Nobody is asked for it before its first code has confirmed it, within 15 minutes.
 * @throws AppError unsupported_operation, missing_field, wrong_password, wrong_code, conflict (no password), limit_reached, rate_limited
 * Design: §16
 */
export async function addFactor(
	needs: FactorNeeds,
	actor: Actor,
	{ type, ...asked }: Asked & { type: "totp" },
): Promise<{ id: string; secret: string; url: string }> {
	const secret = newTotpSecret(needs.system);
	const id = await addPending(needs, actor, asked, { type, name: null, rp_id: null }, secret);
	const issuer = `svc ${new URL(needs.address()).hostname}`;
	return { id, ...(await describeTotp(secret, issuer, actor.email)) };
}

/** Adds a factor that waits for its first use. @returns its id @throws AppError as addFactor */
export async function addPending(
	needs: FactorNeeds,
	actor: Actor,
	asked: Asked,
	kind: Pick<Factor, "type" | "name" | "rp_id">,
	secret: Buffer,
): Promise<string> {
	const owner = await proveFactorOwner(needs, actor, asked, "add a second factor");
	const now = needs.system.now();
	const named = { id: needs.system.uuid(), user_id: actor.user_id, ...kind };
	const sealed = await sealFactor(needs, named, secret);
	const factor = { ...named, sealed, last_step: 0, created_at: now.toISOString(), confirmed_at: null };
	const facts = { factor_id: factor.id, factor_type: kind.type };
	const outcome = await needs.store.factors.add(
		{ factor, owner },
		eventBy(actor, now, "auth.factor.created", undefined, facts),
	);
	if (outcome === "limit_reached") throw tooMany();
	await refuseProof(needs, actor, owner, outcome);
	return factor.id;
}

/**
 * Confirms a new factor with its first code: from then on a login with the password asks for one. The account's other sessions end, and
 * only the source of this request stays known.
 * @returns recovery codes, shown once; none for an account that has some
 * @throws AppError unsupported_operation, not_found, wrong_code, rate_limited
 * Design: §16
 */
export async function confirmFactor(
	needs: FactorNeeds,
	actor: Actor,
	id: string,
	code: string,
): Promise<{ recovery_codes: string[] }> {
	const factor = await findPending(needs, actor, id, "totp");
	const step = await checkedCode(needs, actor, code, async () =>
		stepOf(await openFactor(needs, factor), code, needs.system.now()),
	);
	return confirmPending(needs, actor, factor, { step });
}

/** Finds a factor of the caller's that waits for its first use. @throws AppError unsupported_operation, not_found */
export async function findPending(
	{ store, system }: FactorNeeds,
	actor: Actor,
	id: string,
	type: Factor["type"],
): Promise<Factor> {
	requireSession(actor, "confirm a second factor");
	const factor = (await store.factors.ofUser(actor.user_id)).find((one) => one.id === id && one.type === type);
	if (factor === undefined || !isPending(factor, system.now())) throw notPending();
	return factor;
}

/** Tells whether a factor can still be confirmed. */
export function isPending(factor: Factor, now: Date): boolean {
	return !isConfirmed(factor) && factor.created_at > pendingCutoff(now);
}

/** Confirms a factor after its first use. @param used its step; of a passkey also the new box @throws AppError unsupported_operation, not_found */
export async function confirmPending(
	needs: FactorNeeds,
	actor: Actor,
	{ id, type: factor_type }: Factor,
	used: { step: number; sealed?: Buffer },
): Promise<{ recovery_codes: string[] }> {
	const keep = requireSession(actor, "confirm a second factor");
	const now = needs.system.now();
	const { codes, row } = makeCodes(needs, actor, now);
	const known = needs.known_sources.note(actor.email, actor.ip);
	const confirm = { id, user_id: actor.user_id, ...used, since: pendingCutoff(now), keep, known, codes: row };
	const event = eventBy(actor, now, "auth.factor.confirmed", undefined, { factor_id: id, factor_type });
	const outcome = await needs.store.factors.confirm(confirm, event);
	if (outcome === "unknown") throw notPending();
	return { recovery_codes: outcome === "kept" ? [] : codes };
}

/**
 * Removes a second factor. With the last one the recovery codes go, too.
 * @throws AppError unsupported_operation, missing_field, wrong_password, wrong_code, conflict (no password, no recovery code), not_found, rate_limited
 * Design: §16
 */
export async function removeFactor(needs: FactorNeeds, actor: Actor, id: string, asked: Asked): Promise<void> {
	const owner = await proveFactorOwner(needs, actor, asked, "remove a second factor");
	const event = eventBy(actor, needs.system.now(), "auth.factor.removed", undefined, { factor_id: id });
	const outcome = await needs.store.factors.remove({ id, owner }, event);
	if (outcome === "unknown")
		throw new AppError("not_found", "second factor not found: `svc factor list` shows those of your account");
	if (outcome === "no_codes")
		throw new AppError(
			"conflict",
			"only passkeys would be left, without a recovery code in case none works: make new recovery codes first",
		);
	await refuseProof(needs, actor, owner, outcome);
}

/**
 * Makes new recovery codes, shown once, in place of those before.
 * @throws AppError unsupported_operation, missing_field, wrong_password, wrong_code, conflict (no password, or no second factor), rate_limited
 * Design: §16
 */
export async function renewRecoveryCodes(
	needs: FactorNeeds,
	actor: Actor,
	asked: Asked,
): Promise<{ recovery_codes: string[] }> {
	const owner = await proveFactorOwner(needs, actor, asked, "make recovery codes");
	if (owner.proof === undefined)
		throw new AppError("conflict", "the account has no second factor: add one first with `svc factor add`");
	const now = needs.system.now();
	const { codes, row } = makeCodes(needs, actor, now);
	const event = eventBy(actor, now, "auth.recovery_codes.created", undefined, { count: codes.length });
	await refuseProof(needs, actor, owner, await needs.store.factors.renewCodes({ owner, codes: row }, event));
	return { recovery_codes: codes };
}

function makeCodes(needs: FactorNeeds, { user_id }: Actor, now: Date): { codes: string[]; row: RecoveryCodes } {
	const { codes, digests } = newRecoveryCodes(needs, RECOVERY_CODES);
	return { codes, row: { user_id, digests, created_at: now.toISOString() } };
}

/** Asks for the password, and for a code when there is a factor: neither a stolen session nor a stolen password changes who gets in. */
async function proveFactorOwner(needs: FactorNeeds, actor: Actor, asked: Asked, doing: string): Promise<FactorOwner> {
	const { password, factor: proof } = await proveOwnerByCode(needs, actor, asked, doing);
	if (password === null)
		throw new AppError(
			"conflict",
			"the account has no password for a second factor to protect: it signs in at a provider",
		);
	return { user_id: actor.user_id, password, proof };
}

async function refuseProof(
	needs: FactorNeeds,
	actor: Actor,
	{ proof }: FactorOwner,
	outcome: ProofOutcome,
): Promise<void> {
	if (outcome === "used" && proof !== undefined) await refuseUsedCode(needs, actor, proof);
	if (outcome === "changed")
		throw new AppError("conflict", "the account was changed meanwhile: try again with its current password and a code");
}

/** Makes the answer to a confirmation of what the session did not begin, or began too long ago. */
export function notPending(): AppError {
	return new AppError("not_found", "no second factor waits to be confirmed here: begin again with `svc factor add`");
}

function tooMany(): LimitReached {
	const message = `this account has reached its limit of second factors (factors_per_account, ${MAX_FACTORS}): remove one first`;
	return new LimitReached("factors_per_account", message);
}
