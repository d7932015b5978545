import type { FactorProof } from "../../../accounts/model.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { decideClone, decideProof, splitDigests } from "../../../factors/decide.ts";
import type { FactorOwner, ProofOutcome } from "../../../factors/model.ts";
import type { Change } from "../database.ts";
import { factorsOf, hasFactor } from "../reads/factors.ts";

/** Tells whether an account is enabled and still has this password. */
export async function isAccount(db: Change, user_id: string, password: string): Promise<boolean> {
	const isUnchanged = "id = $1 AND password = $2 AND disabled_at IS NULL";
	return (await db.verified("account", isUnchanged, [user_id, password])).length > 0;
}

/** Uses a proof up. @returns undefined when it was used meanwhile, or its factor is gone */
export async function useProof(
	db: Change,
	user_id: string,
	proof: FactorProof,
): Promise<{ recovery_codes_left?: number } | undefined> {
	const [codes] = await db.verified("recovery_codes", "user_id = $1", [user_id]);
	const used = decideProof(proof, await factorsOf(db, user_id), codes?.digests);
	if (used === undefined) return undefined;
	if ("digests" in used) {
		await db.update("recovery_codes", { digests: used.digests }, "user_id = $1", [user_id]);
		return { recovery_codes_left: splitDigests(used.digests).length };
	}
	await db.update("factor", { last_step: used.step }, "id = $1", [used.factor_id]);
	return {};
}

/** Ends a passkey of which there is a copy. */
export async function endCopy(db: Change, user_id: string, proof: FactorProof, event: AuditEvent): Promise<boolean> {
	const copied = decideClone(proof, await factorsOf(db, user_id));
	if (copied === undefined) return false;
	await db.update("factor", { last_step: copied.step }, "id = $1", [copied.factor_id]);
	db.append({ ...event, type: "auth.factor.disabled" });
	return true;
}

/**
 * Uses up the code of a change in addition to the password: `changed` when there is a factor but no code. The change must follow. The use of a recovery code
 * is an event of its own.
 */
export async function useForChange(
	db: Change,
	user_id: string,
	proof: FactorProof | undefined,
	event: AuditEvent,
): Promise<ProofOutcome> {
	if (proof === undefined) return (await hasFactor(db, user_id)) ? "changed" : "done";
	const used = await useProof(db, user_id, proof);
	const { request_id, ip } = event.data;
	if (used === undefined) {
		await endCopy(db, user_id, proof, { ...event, data: { request_id, ip } });
		return "used";
	}
	if (used.recovery_codes_left !== undefined)
		db.append({ ...event, type: "auth.recovery_code.used", data: { request_id, ip } }, used);
	return "done";
}

/** Checks the proof of a change and uses it up; the change must follow. */
export async function prove(
	db: Change,
	{ user_id, password, proof }: FactorOwner,
	event: AuditEvent,
): Promise<ProofOutcome> {
	return (await isAccount(db, user_id, password)) ? useForChange(db, user_id, proof, event) : "changed";
}
