import { isConfirmed, mayAdd, mayRemove } from "../../../factors/decide.ts";
import type { RecoveryCodes } from "../../../factors/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { factorsOf } from "../reads/factors.ts";
import { endCopy, isAccount, prove, useProof } from "./factor-proofs.ts";
import { noteSource, openSession } from "./sessions.ts";

type FactorWrites = Async<Implementations<"write">["factors"]>;

/** Makes the operations on second factors. */
export function factorWrites(db: Change): FactorWrites {
	return {
		async signIn({ session, password, known, proof }, event) {
			const { user_id } = session;
			if (!(await isAccount(db, user_id, password))) return "changed";
			const used = await useProof(db, user_id, proof);
			if (used === undefined) return (await endCopy(db, user_id, proof, event)) ? "cloned" : "used";
			const ended = await openSession(db, session);
			if (known !== undefined) await noteSource(db, user_id, known);
			db.append(event, { ...ended, ...used });
			if (used.recovery_codes_left !== undefined) db.append({ ...event, type: "auth.recovery_code.used" }, used);
			return "done";
		},
		...changes(db),
		confirm: (given, event) => confirm(db, given, event),
		dropPending: (made_before) => db.remove("factor", "confirmed_at IS NULL AND created_at < $1", [made_before]),
	};
}

/** Ends all second factors of an account, whatever another program made of them. @returns the number of factors */
export async function dropFactors(db: Change, user_id: string): Promise<number> {
	await db.remove("recovery_codes", "user_id = $1", [user_id]);
	return db.remove("factor", "user_id = $1", [user_id]);
}

async function setCodes(db: Change, codes: RecoveryCodes): Promise<void> {
	// A row that another program altered would stay without a MAC, whatever changes in it.
	await db.remove("recovery_codes", "user_id = $1", [codes.user_id]);
	await db.insert("recovery_codes", codes);
}

function changes(db: Change): Pick<FactorWrites, "add" | "remove" | "renewCodes"> {
	return {
		async add({ factor, owner }, event) {
			if (!mayAdd(await factorsOf(db, owner.user_id))) return "limit_reached";
			const outcome = await prove(db, owner, event);
			if (outcome !== "done") return outcome;
			await db.remove("factor", "user_id = $1 AND confirmed_at IS NULL", [owner.user_id]);
			await db.insert("factor", factor);
			db.append(event);
			return outcome;
		},
		async remove({ id, owner }, event) {
			const factors = await factorsOf(db, owner.user_id);
			if (!factors.some((factor) => factor.id === id)) return "unknown";
			const [codes] = await db.verified("recovery_codes", "user_id = $1", [owner.user_id]);
			if (!mayRemove(id, factors, codes?.digests, owner.proof)) return "no_codes";
			const outcome = await prove(db, owner, event);
			if (outcome !== "done") return outcome;
			await db.remove("factor", "id = $1", [id]);
			if (!factors.some((factor) => factor.id !== id && isConfirmed(factor)))
				await db.remove("recovery_codes", "user_id = $1", [owner.user_id]);
			db.append(event);
			return outcome;
		},
		async renewCodes({ owner, codes }, event) {
			const outcome = await prove(db, owner, event);
			if (outcome !== "done") return outcome;
			await setCodes(db, codes);
			db.append(event);
			return outcome;
		},
	};
}

async function confirm(
	db: Change,
	...[{ id, user_id, step, since, sealed, keep, codes, known }, event]: Parameters<FactorWrites["confirm"]>
): ReturnType<FactorWrites["confirm"]> {
	const factors = await factorsOf(db, user_id);
	const factor = factors.find((one) => one.id === id);
	if (factor === undefined || isConfirmed(factor) || factor.created_at <= since) return "unknown";
	const confirmed = { confirmed_at: event.timestamp, last_step: step, ...(sealed && { sealed }) };
	await db.update("factor", confirmed, "id = $1", [id]);
	const standing = await db.verified("recovery_codes", "user_id = $1", [user_id]);
	const hasCodes = standing.length > 0 && factors.some(isConfirmed);
	if (!hasCodes) await setCodes(db, codes);
	await db.remove("known_source", "user_id = $1", [user_id]);
	if (known !== undefined) await noteSource(db, user_id, known);
	db.append(event, { sessions_ended: await db.remove("session", "user_id = $1 AND jti <> $2", [user_id, keep]) });
	return hasCodes ? "kept" : "done";
}
