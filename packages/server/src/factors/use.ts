import type { FactorProof } from "../accounts/model.ts";
import type { PasswordQueue } from "../accounts/password-queue.ts";
import type { Failed, Throttle } from "../accounts/throttle.ts";
import { type AuditStore, noteBy } from "../audit/model.ts";
import { type CodeNeeds, digestsOf, isOneOf } from "../crypto/codes.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { type EncryptionContext, openRecord, sealRecord } from "../crypto/seal.ts";
import { AppError } from "../errors.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import type { ChallengeCheck } from "./challenges.ts";
import { isConfirmed, splitDigests } from "./decide.ts";
import type { Factor, FactorStore } from "./model.ts";
import type { AuthenticationResponse } from "./responses.ts";
import { isTotpCode, stepOf } from "./totp.ts";
import type { Expected, NewPasskey } from "./webauthn.ts";

/** Dependencies of checking a code, or a passkey. */
export interface FactorUseNeeds extends Pick<CodeNeeds, "keyring"> {
	store: { factors: Pick<FactorStore, "ofUser" | "recoveryCodes"> };
	system: Pick<System, "now">;
	keyring: CodeNeeds["keyring"] & Pick<Keyring, "recordFor">;
}

/** Dependencies of asking the holder of a session for a code. */
export interface AskedCodeNeeds extends FactorUseNeeds {
	store: FactorUseNeeds["store"] & { audit: Pick<AuditStore, "append"> };
	passwords: Pick<PasswordQueue, "run">;
	throttle: Pick<Throttle, "attempt" | "checkCodes" | "wrongCode">;
}

/** Something that a passkey signed, and what it must be for: its challenge is good once. */
export interface SignedPasskey {
	answer: AuthenticationResponse;
	expected: Expected & ChallengeCheck;
}

/**
 * Requires a code, or a passkey, in addition to the password if the account has a second factor.
 * @param field name of the field with the code, for the error
 * @returns its proof, for the transaction to use up; undefined where there is no factor
 * @throws AppError missing_field, wrong_code, rate_limited
 * Design: §16
 */
export async function askForFactor(
	needs: AskedCodeNeeds,
	actor: Actor,
	{ code, passkey }: { code?: string | null | undefined; passkey?: SignedPasskey | undefined },
	field = "code",
): Promise<FactorProof | undefined> {
	const factors = await confirmedFactors(needs, actor.user_id);
	if (factors.length === 0) return undefined;
	if (passkey !== undefined) return checkedCode(needs, actor, undefined, () => passkeyProofOf(needs, factors, passkey));
	if (code == null)
		throw new AppError("missing_field", `${field} is required: one of your authenticator app, or a recovery code`);
	return checkedCode(needs, actor, code, () => proofOf(needs, actor.user_id, factors, code));
}

/** Checks a typed code, or a passkey (undefined), in the queue of password checks, and counts a wrong one. @throws AppError wrong_code, rate_limited */
export function checkedCode<Found>(
	needs: AskedCodeNeeds,
	actor: Actor,
	code: string | undefined,
	find: () => Promise<Found | undefined>,
): Promise<Found> {
	return needs.throttle.attempt(needs.passwords, actor.email, actor.ip, async (failed) => {
		if (code !== undefined) await refuseGuesser(needs, actor, code);
		return (await find()) ?? refuseCode(needs, actor, code, failed);
	});
}

/** Counts a code that another request has used up as a wrong one. @throws AppError wrong_code, rate_limited */
export function refuseUsedCode(needs: AskedCodeNeeds, actor: Actor, proof: FactorProof): Promise<never> {
	const { throttle, passwords } = needs;
	return throttle.attempt(passwords, actor.email, actor.ip, (failed) => refuseCode(needs, actor, proof, failed));
}

async function refuseCode(
	needs: AskedCodeNeeds,
	actor: Actor,
	code: string | FactorProof | undefined,
	failed: Failed,
): Promise<never> {
	if (code === undefined) await failed();
	else await countWrongCode(needs, actor, code, failed);
	const facts = { method: "factor", reason: code === undefined ? "passkey" : "code" };
	await needs.store.audit.append(noteBy(actor, needs.system.now(), "auth.login.failed", undefined, facts));
	if (code === undefined) throw new AppError("wrong_code", "the passkey was not accepted: try again, or type a code");
	throw new AppError("wrong_code", "the code is wrong or was used already: wait for the next one of your app");
}

/** Account and source of a typed code. */
interface Typist {
	email: string;
	ip: string;
}

/** Refuses a source that guesses app codes. A recovery code never waits: its 50 bits cannot be guessed. @throws AppError rate_limited */
export async function refuseGuesser(
	{ throttle }: { throttle: Pick<Throttle, "checkCodes"> },
	{ email, ip }: Typist,
	code: string,
): Promise<void> {
	if (isTotpCode(code)) await throttle.checkCodes(email, ip);
}

/** Counts a wrong or used code. @param code typed code, or its proof @param failed counts it as a failed login */
export async function countWrongCode(
	{ throttle }: { throttle: Pick<Throttle, "wrongCode"> },
	{ email, ip }: Typist,
	code: string | FactorProof,
	failed: Failed,
): Promise<void> {
	await failed();
	if (typeof code === "string" ? isTotpCode(code) : "step" in code) await throttle.wrongCode(email, ip);
}

/** Lists the confirmed factors of an account. */
export async function confirmedFactors({ store }: FactorUseNeeds, user_id: string): Promise<Factor[]> {
	return (await store.factors.ofUser(user_id)).filter(isConfirmed);
}

/**
 * Matches a typed code with a time step of one of these factors, or with a recovery code of the account. The transaction that uses it up decides whether
 * it was used before.
 * @returns undefined when it is wrong
 */
export async function proofOf(
	needs: FactorUseNeeds,
	user_id: string,
	factors: readonly Factor[],
	code: string,
): Promise<FactorProof | undefined> {
	if (!isTotpCode(code)) return recoveryOf(needs, user_id, code);
	const now = needs.system.now();
	for (const factor of factors.filter(({ type }) => type === "totp")) {
		const step = await stepOf(await openFactor(needs, factor), code, now);
		if (step !== undefined) return { factor_id: factor.id, step };
	}
	return undefined;
}

async function recoveryOf(needs: FactorUseNeeds, user_id: string, code: string): Promise<FactorProof | undefined> {
	const digests = digestsOf(needs, "recovery", code);
	const row = await needs.store.factors.recoveryCodes(user_id);
	const found = splitDigests(row?.digests ?? Buffer.alloc(0)).filter((kept) => isOneOf(digests, kept));
	return found[0] && { digest: found[0] };
}

/** Loads the verifier of passkeys on first use: few servers need it, and it is large. */
export const loadWebauthn = () => import("./webauthn.ts");

/**
 * Verifies what one of these passkeys signed. The transaction that uses its count up decides whether there is a copy of it.
 * @returns undefined when it is none of them, or anything does not fit
 */
export async function passkeyProofOf(
	needs: FactorUseNeeds,
	factors: readonly Factor[],
	{ answer, expected }: SignedPasskey,
): Promise<FactorProof | undefined> {
	for (const factor of factors.filter(({ type }) => type === "passkey")) {
		const { credential_id, public_key } = await openPasskey(needs, factor);
		if (credential_id !== answer.id) continue;
		const { verifyAuthentication } = await loadWebauthn();
		const step = await verifyAuthentication(answer, public_key, expected);
		return step === undefined || !(await expected.useUp(factor.user_id)) ? undefined : { factor_id: factor.id, step };
	}
	return undefined;
}

/** A confirmed passkey, as its box holds it. By its name and host its owner chooses which one to remove. */
type Passkey = Pick<NewPasskey, "credential_id" | "public_key"> & Pick<Factor, "name" | "rp_id">;

/** Seals a passkey, in place of the secret that its challenge was made of. */
export function sealPasskey(
	needs: Parameters<typeof sealFactor>[0],
	{ name, rp_id, ...row }: Pick<Factor, "id" | "user_id" | "type" | "name" | "rp_id">,
	{ credential_id, public_key }: Pick<NewPasskey, "credential_id" | "public_key">,
): Promise<Buffer> {
	const text = JSON.stringify({ credential_id, public_key: public_key.toString("base64url"), name, rp_id });
	return sealFactor(needs, row, Buffer.from(text));
}

/** Opens a confirmed passkey. @throws AppError internal_error when its row was altered */
export async function openPasskey(needs: Parameters<typeof openFactor>[0], row: Factor): Promise<Passkey> {
	const opened = (await openFactor(needs, row)).toString();
	// The box of before its confirmation opens, too, and holds no passkey.
	if (!opened.startsWith('{"credential_id"')) throw cannotOpen();
	// Boxes once held neither name nor host.
	const { name, rp_id } = row;
	const box = { name, rp_id, ...(JSON.parse(opened) as Record<"credential_id" | "public_key", string>) };
	return { ...box, public_key: Buffer.from(box.public_key, "base64url") };
}

/** Returns a factor with the name and host of its box: another program may have exchanged those of the row, so that its owner removes another one. */
export async function withOwnName(needs: Parameters<typeof openFactor>[0], factor: Factor): Promise<Factor> {
	if (factor.type !== "passkey" || !isConfirmed(factor)) return factor;
	// One that does not open signs nobody in.
	const box = await openPasskey(needs, factor).catch(() => factor);
	return { ...factor, name: box.name, rp_id: box.rp_id };
}

/** Seals the secret of a factor. */
export async function sealFactor(
	{ keyring, system }: { keyring: Pick<Keyring, "record">; system: Pick<System, "randomBytes"> },
	row: Pick<Factor, "id" | "user_id" | "type">,
	secret: Buffer,
): Promise<Buffer> {
	return sealRecord(await keyring.record(""), contextOf(row), secret, system.randomBytes);
}

/** Opens the secret of a factor. @throws AppError internal_error when its row was altered */
export async function openFactor(
	{ keyring }: { keyring: Pick<Keyring, "recordFor"> },
	row: Pick<Factor, "id" | "user_id" | "type" | "sealed">,
): Promise<Buffer> {
	const key = await keyring.recordFor("", row.sealed);
	const bytes = key && openRecord(key, contextOf(row), row.sealed);
	if (bytes !== undefined) return bytes;
	throw cannotOpen();
}

function cannotOpen(): AppError {
	return new AppError(
		"internal_error",
		"a second factor's record cannot be opened: the database was altered or damaged; `svc doctor --deep` names all that do not open; restore a backup",
	);
}

function contextOf({ id, user_id, type }: Pick<Factor, "id" | "user_id" | "type">): EncryptionContext {
	return { label: "factor.sealed", realm_id: "", environment: type, name: user_id, row_id: id };
}
