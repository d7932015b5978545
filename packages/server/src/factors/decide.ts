import type { FactorProof } from "../accounts/model.ts";
import { DIGEST_BYTES, type Factor, MAX_FACTORS } from "./model.ts";

type Standing = Pick<Factor, "id" | "last_step" | "confirmed_at">;

/** Effect of a proof on the rows: a factor's new last step, or the recovery codes that are left. */
export type Used = { factor_id: string; step: number } | { digests: Buffer };

/**
 * Decides whether a proof is still good. A step is accepted once, and none before it: a code that was seen while it was typed is worth nothing. Design: §16
 * @param factors of the account
 * @param digests of its recovery codes
 * @returns what it uses up, or undefined
 */
export function decideProof(
	proof: FactorProof,
	factors: readonly Standing[],
	digests: Buffer | undefined,
): Used | undefined {
	if ("digest" in proof) {
		const left = digests && withoutDigest(digests, proof.digest);
		return left && factors.some(isConfirmed) ? { digests: left } : undefined;
	}
	const { factor_id, step } = proof;
	const factor = factors.find(({ id }) => id === factor_id);
	return factor !== undefined && isConfirmed(factor) && step > factor.last_step ? { factor_id, step } : undefined;
}

/** Takes a digest out of those that stand one after another; undefined when it is not among them. */
function withoutDigest(digests: Buffer, digest: Buffer): Buffer | undefined {
	const at = splitDigests(digests).findIndex((one) => one.equals(digest));
	if (at < 0) return undefined;
	const start = at * DIGEST_BYTES;
	return Buffer.concat([digests.subarray(0, start), digests.subarray(start + DIGEST_BYTES)]);
}

/** Splits digests that stand one after another. */
export function splitDigests(digests: Buffer): Buffer[] {
	const count = Math.floor(digests.length / DIGEST_BYTES);
	return Array.from({ length: count }, (_, at) => digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES));
}

/** Tells whether an account may have one more factor. */
export function mayAdd(factors: readonly Standing[]): boolean {
	return factors.filter(isConfirmed).length < MAX_FACTORS;
}

/** Tells whether a factor is asked for. */
export function isConfirmed({ confirmed_at }: Pick<Factor, "confirmed_at">): boolean {
	return confirmed_at !== null;
}
