import type { FactorProof } from "../accounts/model.ts";
import {
	type ChallengeOutcome,
	DIGEST_BYTES,
	type Factor,
	MAX_CHALLENGES_OF_ACCOUNT,
	MAX_CHALLENGES_WHEN_SCARCE,
	MAX_FACTORS,
	MAX_USED_CHALLENGES,
} from "./model.ts";

type StoredFactor = Pick<Factor, "id" | "type" | "last_step" | "confirmed_at">;

/** More than any count of signatures, which has 32 bits: nothing that the passkey signs is accepted any more. */
const ENDED = 2 ** 32;

/** Effect of a proof on the rows: a factor's new last step, or the recovery codes that are left. */
export type Used = { factor_id: string; step: number } | { digests: Buffer };

/**
 * Decides whether a proof is still good. A step is accepted once, and none before it: a code that was seen while it was typed is worth nothing, and
 * neither is a copy of a passkey. Design: §16
 * @param factors of the account
 * @param digests of its recovery codes
 * @returns what it uses up, or undefined
 */
export function decideProof(
	proof: FactorProof,
	factors: readonly StoredFactor[],
	digests: Buffer | undefined,
): Used | undefined {
	if ("digest" in proof) {
		const left = digests && withoutDigest(digests, proof.digest);
		return left && factors.some(isConfirmed) ? { digests: left } : undefined;
	}
	const { factor_id, step } = proof;
	const factor = factors.find(({ id }) => id === factor_id);
	return factor !== undefined && isConfirmed(factor) && isLater(factor, step) ? { factor_id, step } : undefined;
}

/** Compares with the last step. A passkey that does not count its signatures says 0 each time. */
function isLater({ type, last_step }: StoredFactor, step: number): boolean {
	return step > last_step || (type === "passkey" && step === 0 && last_step === 0);
}

/**
 * Decides whether a refused proof shows a copy of a passkey: its count is not larger than one that was seen. Nobody knows which of the two is the
 * owner's, so both end.
 * @returns what ends the passkey, or undefined
 */
export function decideClone(
	proof: FactorProof,
	factors: readonly StoredFactor[],
): { factor_id: string; step: number } | undefined {
	if ("digest" in proof) return undefined;
	const { factor_id, step } = proof;
	const factor = factors.find(({ id, type }) => id === factor_id && type === "passkey");
	const isCopy = factor !== undefined && isConfirmed(factor) && !isEnded(factor) && !isLater(factor, step);
	return isCopy ? { factor_id, step: ENDED } : undefined;
}

/** Tells whether a passkey has ended because a copy of it was used. It is still asked for: its end makes no password enough. */
export function isEnded({ last_step }: Pick<Factor, "last_step">): boolean {
	return last_step >= ENDED;
}

/**
 * Decides whether a factor may be removed: nobody is left with passkeys alone and no recovery code, since all passkeys end with the server's host.
 * @param digests of the account's recovery codes
 */
export function mayRemove(
	id: string,
	factors: readonly StoredFactor[],
	digests: Buffer | undefined,
	proof: FactorProof | undefined,
): boolean {
	const confirmed = factors.filter(isConfirmed);
	const left = confirmed.filter((factor) => factor.id !== id);
	if (left.length === confirmed.length || left.length === 0) return true;
	const used = proof !== undefined && "digest" in proof ? DIGEST_BYTES : 0;
	return left.some(({ type }) => type === "totp") || (digests?.length ?? 0) > used;
}

/** Takes a digest out of those that follow one another; undefined when it is not among them. */
function withoutDigest(digests: Buffer, digest: Buffer): Buffer | undefined {
	const at = splitDigests(digests).findIndex((one) => one.equals(digest));
	if (at < 0) return undefined;
	const start = at * DIGEST_BYTES;
	return Buffer.concat([digests.subarray(0, start), digests.subarray(start + DIGEST_BYTES)]);
}

/** Splits digests that follow one another. */
export function splitDigests(digests: Buffer): Buffer[] {
	const count = Math.floor(digests.length / DIGEST_BYTES);
	return Array.from({ length: count }, (_, at) => digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES));
}

/** Tells whether an account may have one more factor. */
export function mayAdd(factors: readonly StoredFactor[]): boolean {
	return factors.filter(isConfirmed).length < MAX_FACTORS;
}

/** Tells whether a factor is asked for. */
export function isConfirmed({ confirmed_at }: Pick<Factor, "confirmed_at">): boolean {
	return confirmed_at !== null;
}

/** Decides whether one more challenge may be used. @param of_account used ones of the account that have not ended @param all those of all accounts */
export function decideChallenge(isUsed: boolean, of_account: number, all: number): ChallengeOutcome {
	if (isUsed) return "used";
	if (all >= MAX_USED_CHALLENGES) return "full";
	const isScarce = all >= MAX_USED_CHALLENGES / 2;
	if (of_account < (isScarce ? MAX_CHALLENGES_WHEN_SCARCE : MAX_CHALLENGES_OF_ACCOUNT)) return "done";
	return isScarce ? "account_scarce" : "account_full";
}
