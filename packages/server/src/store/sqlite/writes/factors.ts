import type { Database } from "better-sqlite3";
import type { FactorProof } from "../../../accounts/model.ts";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { decideClone, decideProof, isConfirmed, mayAdd, mayRemove, splitDigests } from "../../../factors/decide.ts";
import type { Factor, FactorOwner, ProofOutcome, RecoveryCodes } from "../../../factors/model.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { sessionOpening } from "./sessions.ts";

type Writes = Implementations<"write">["factors"];

/** Finds a row when an account has a factor that is asked for. */
export const HAS_FACTOR = `SELECT 1 FROM ${verified("factor")} WHERE user_id = ? AND confirmed_at IS NOT NULL`;

const DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = ?";

/** Operations on second factors. */
export function factorWrites(db: Database, append: Append): Writes {
	const rows = rowsOf(db, append);
	const drop = db.prepare("DELETE FROM factor WHERE confirmed_at IS NULL AND created_at < ?");
	return {
		signIn: signingIn(db, append, rows),
		...changes(db, append, rows),
		confirm: confirmation(db, append, rows),
		dropPending: (made_before) => drop.run(made_before).changes,
	};
}

/** Prepares the end of all second factors of an account, whatever another program made of them. @returns the number of factors */
export function droppingFactors(db: Database): (user_id: string) => number {
	const factors = db.prepare("DELETE FROM factor WHERE user_id = ?");
	const codes = db.prepare(DELETE_CODES);
	return (user_id) => {
		codes.run(user_id);
		return factors.run(user_id).changes;
	};
}

/** Prepares using up the code of a change in addition to the password: `changed` when there is a factor but no code. */
export function factorUse(
	db: Database,
	append: Append,
): (user_id: string, proof: FactorProof | undefined, event: AuditEvent) => ProofOutcome {
	return rowsOf(db, append).useFor;
}

/** Prepares the reads of an account's factors, and the uses of proofs. */
function rowsOf(db: Database, append: Append) {
	const ofUser = db.prepare(
		`SELECT id, type, last_step, created_at, confirmed_at FROM ${verified("factor")} WHERE user_id = ?`,
	);
	const codes = db.prepare(`SELECT digests FROM ${verified("recovery_codes")} WHERE user_id = ?`).pluck();
	const account = db
		.prepare(`SELECT 1 FROM ${verified("account")} WHERE id = ? AND password = ? AND disabled_at IS NULL`)
		.pluck();
	const endCodes = db.prepare(DELETE_CODES);
	const setCodes = db.prepare(
		"INSERT INTO recovery_codes (user_id, digests, created_at) VALUES (@user_id, @digests, @created_at)",
	);
	const factorsOf = (user_id: string) => ofUser.all(user_id) as Row[];
	const codesOf = (user_id: string) => codes.get(user_id) as Buffer | undefined;
	const uses = usesOf(db, append, { factorsOf, codesOf });
	return {
		factorsOf,
		codesOf,
		...uses,
		isAccount: (user_id: string, password: string) => account.get(user_id, password) !== undefined,
		endCodes: (user_id: string) => endCodes.run(user_id),
		// A row that another program altered would stay without a MAC, whatever changes in it.
		setCodes(row: RecoveryCodes) {
			endCodes.run(row.user_id);
			setCodes.run(row);
		},
		/** Checks the proof of a change and uses it up; the change must follow. */
		check: ({ user_id, password, proof }: FactorOwner, event: AuditEvent): ProofOutcome =>
			account.get(user_id, password) === undefined ? "changed" : uses.useFor(user_id, proof, event),
	};
}

type Row = Pick<Factor, "id" | "type" | "last_step" | "created_at" | "confirmed_at">;

/** Reads of an account's factors. */
interface Reads {
	factorsOf(user_id: string): Row[];
	codesOf(user_id: string): Buffer | undefined;
}

/** Prepares the uses of proofs. */
function usesOf(db: Database, append: Append, { factorsOf, codesOf }: Reads) {
	const step = db.prepare("UPDATE factor SET last_step = ? WHERE id = ?");
	const keepCodes = db.prepare("UPDATE recovery_codes SET digests = ? WHERE user_id = ?");
	/** Uses a proof up. Undefined when it was used meanwhile, or its factor is gone. */
	function use(user_id: string, proof: FactorProof): { recovery_codes_left?: number } | undefined {
		const used = decideProof(proof, factorsOf(user_id), codesOf(user_id));
		if (used === undefined) return undefined;
		if ("digests" in used) {
			keepCodes.run(used.digests, user_id);
			return { recovery_codes_left: splitDigests(used.digests).length };
		}
		step.run(used.step, used.factor_id);
		return {};
	}
	/** Ends a passkey of which there is a copy. */
	function endCopy(user_id: string, proof: FactorProof, event: AuditEvent): boolean {
		const copied = decideClone(proof, factorsOf(user_id));
		if (copied === undefined) return false;
		step.run(copied.step, copied.factor_id);
		append({ ...event, type: "auth.factor.disabled" });
		return true;
	}
	/** Uses up the proof of a change, which must follow. The use of a recovery code is an event of its own. */
	function useFor(user_id: string, proof: FactorProof | undefined, event: AuditEvent): ProofOutcome {
		if (proof === undefined) return factorsOf(user_id).some(isConfirmed) ? "changed" : "done";
		const used = use(user_id, proof);
		const { request_id, ip } = event.data;
		if (used === undefined) {
			endCopy(user_id, proof, { ...event, data: { request_id, ip } });
			return "used";
		}
		if (used.recovery_codes_left !== undefined)
			append({ ...event, type: "auth.recovery_code.used", data: { request_id, ip } }, used);
		return "done";
	}
	return { use, endCopy, useFor };
}

type Rows = ReturnType<typeof rowsOf>;

function signingIn(db: Database, append: Append, rows: Rows): Writes["signIn"] {
	const open = sessionOpening(db);
	const sources = knownSourceWrites(db);
	return ({ session, password, known, proof }, event) => {
		if (!rows.isAccount(session.user_id, password)) return "changed";
		const used = rows.use(session.user_id, proof);
		if (used === undefined) return rows.endCopy(session.user_id, proof, event) ? "cloned" : "used";
		const ended = open(session);
		if (known !== undefined) sources.note(session.user_id, known);
		append(event, { ...ended, ...used });
		if (used.recovery_codes_left !== undefined)
			append({ ...event, type: "auth.recovery_code.used" }, { recovery_codes_left: used.recovery_codes_left });
		return "done";
	};
}

function changes(db: Database, append: Append, rows: Rows): Pick<Writes, "add" | "remove" | "renewCodes"> {
	const endPending = db.prepare("DELETE FROM factor WHERE user_id = ? AND confirmed_at IS NULL");
	const insert = db.prepare(
		"INSERT INTO factor (id, user_id, type, name, rp_id, sealed, last_step, created_at, confirmed_at) " +
			"VALUES (@id, @user_id, @type, @name, @rp_id, @sealed, @last_step, @created_at, @confirmed_at)",
	);
	const remove = db.prepare("DELETE FROM factor WHERE id = ?");
	return {
		add({ factor, owner }, event) {
			if (!mayAdd(rows.factorsOf(owner.user_id))) return "limit_reached";
			const outcome = rows.check(owner, event);
			if (outcome !== "done") return outcome;
			endPending.run(owner.user_id);
			insert.run(factor);
			append(event);
			return outcome;
		},
		remove({ id, owner }, event) {
			const factors = rows.factorsOf(owner.user_id);
			if (!factors.some((factor) => factor.id === id)) return "unknown";
			if (!mayRemove(id, factors, rows.codesOf(owner.user_id), owner.proof)) return "no_codes";
			const outcome = rows.check(owner, event);
			if (outcome !== "done") return outcome;
			remove.run(id);
			if (!factors.some((factor) => factor.id !== id && isConfirmed(factor))) rows.endCodes(owner.user_id);
			append(event);
			return outcome;
		},
		renewCodes({ owner, codes }, event) {
			const outcome = rows.check(owner, event);
			if (outcome !== "done") return outcome;
			rows.setCodes(codes);
			append(event);
			return outcome;
		},
	};
}

function confirmation(db: Database, append: Append, rows: Rows): Writes["confirm"] {
	const confirm = db.prepare(
		"UPDATE factor SET confirmed_at = ?, last_step = ?, sealed = coalesce(?, sealed) WHERE id = ?",
	);
	const endSessions = db.prepare("DELETE FROM session WHERE user_id = ? AND jti <> ?");
	const sources = knownSourceWrites(db);
	return ({ id, user_id, step, since, sealed, keep, codes, known }, event) => {
		const factors = rows.factorsOf(user_id);
		const factor = factors.find((one) => one.id === id);
		if (factor === undefined || isConfirmed(factor) || factor.created_at <= since) return "unknown";
		confirm.run(event.timestamp, step, sealed ?? null, id);
		const hasCodes = rows.codesOf(user_id) !== undefined && factors.some(isConfirmed);
		if (!hasCodes) rows.setCodes(codes);
		sources.forget(user_id);
		if (known !== undefined) sources.note(user_id, known);
		const { changes: sessions_ended } = endSessions.run(user_id, keep);
		append(event, { sessions_ended });
		return hasCodes ? "kept" : "done";
	};
}
