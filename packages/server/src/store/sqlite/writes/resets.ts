import type { Database } from "better-sqlite3";
import type { Account } from "../../../accounts/model.ts";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { decideRecovery, decideReset, MAX_TOLD_REALMS } from "../../../resets/decide.ts";
import type { DroppedFactors, ResetCode } from "../../../resets/model.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { droppingFactors } from "./factors.ts";
import { knownSourceWrites } from "./known-sources.ts";

/** Counts the enabled instance admins besides one account. */
export const OTHER_ADMINS = `SELECT count(*) FROM ${verified("account")} WHERE instance_admin = 1 AND disabled_at IS NULL AND id <> ?`;

/** Removes the account's reset code. */
export const DELETE_RESET_CODE = "DELETE FROM reset_code WHERE user_id = ?";

/** Operations on reset codes. */
export function resetWrites(db: Database, append: Append): Implementations<"write">["resets"] {
	const target = targetOf(db);
	const keep = keeping(db);
	const drop = db.prepare("DELETE FROM reset_code WHERE expires_at < ?");
	return {
		make(code, event) {
			const decision = decideReset(target(code.user_id));
			if (decision !== "done") return decision;
			keep(code);
			append(event);
			return "done";
		},
		use: useOf(db, append),
		dropFactors: dropping(db, append),
		recover: recovery(db, append, keep),
		drop: (expired_before) => drop.run(expired_before).changes,
	};
}

type Target = Pick<Account, "password" | "disabled_at" | "instance_admin">;

function targetOf(db: Database): (user_id: string) => Target | undefined {
	const find = db.prepare(`SELECT password, disabled_at, instance_admin FROM ${verified("account")} WHERE id = ?`);
	return (user_id) => {
		const row = find.get(user_id) as Record<keyof Target, never> | undefined;
		return row && { ...row, instance_admin: row.instance_admin === 1 };
	};
}

/** Prepares keeping a code in place of the account's earlier one. */
function keeping(db: Database): (code: ResetCode) => void {
	// A row that another program altered would stay without a MAC, whatever changes in it.
	const end = db.prepare(DELETE_RESET_CODE);
	const insert = db.prepare(
		"INSERT INTO reset_code (user_id, digest, created_by, created_at, expires_at) " +
			"VALUES (@user_id, @digest, @created_by, @created_at, @expires_at)",
	);
	return (code) => {
		end.run(code.user_id);
		insert.run(code);
	};
}

function useOf(db: Database, append: Append): Implementations<"write">["resets"]["use"] {
	const isCode = db
		.prepare(`SELECT 1 FROM ${verified("reset_code")} WHERE user_id = ? AND digest = ? AND expires_at > ?`)
		.pluck();
	const isEnabled = db.prepare(`SELECT 1 FROM ${verified("account")} WHERE id = ? AND disabled_at IS NULL`).pluck();
	const set = db.prepare("UPDATE account SET password = ? WHERE id = ?");
	const end = db.prepare(DELETE_RESET_CODE);
	const endSessions = db.prepare("DELETE FROM session WHERE user_id = ?");
	const sources = knownSourceWrites(db);
	const tellRealms = tellingRealms(db, append);
	return ({ user_id, digest, password, at }, event) => {
		if (isCode.get(user_id, digest, at) === undefined || isEnabled.get(user_id) === undefined) return "changed";
		set.run(password, user_id);
		end.run(user_id);
		sources.forget(user_id);
		const { changes } = endSessions.run(user_id);
		append(event, { sessions_ended: changes });
		tellRealms(user_id, event);
		return "done";
	};
}

function dropping(db: Database, append: Append): Implementations<"write">["resets"]["dropFactors"] {
	const target = targetOf(db);
	const end = endingFactors(db);
	const sources = knownSourceWrites(db);
	const tellRealms = tellingRealms(db, append);
	return (user_id, event) => {
		if (target(user_id) === undefined) return undefined;
		sources.forget(user_id);
		const dropped = end(user_id);
		append(event, { ...dropped });
		tellRealms(user_id, event);
		return dropped;
	};
}

/** Prepares the end of an account's factors, and of the sessions that they guarded. */
function endingFactors(db: Database): (user_id: string) => DroppedFactors {
	const drop = droppingFactors(db);
	const endSessions = db.prepare("DELETE FROM session WHERE user_id = ?");
	return (user_id) => ({ factors_dropped: drop(user_id), sessions_ended: endSessions.run(user_id).changes });
}

/** Adds the event to each live realm that the account owns or is bound in. */
function tellingRealms(db: Database, append: Append): (user_id: string, event: AuditEvent) => void {
	type Realms = { id: string; slug: string }[];
	const owned = db.prepare("SELECT id, slug FROM realm WHERE user_id = ? AND deleted_at IS NULL ORDER BY id LIMIT ?");
	const bound = db.prepare(
		"SELECT realm.id, slug FROM binding JOIN realm ON realm.id = realm_id " +
			"WHERE binding.user_id = ? AND deleted_at IS NULL ORDER BY binding.id LIMIT ?",
	);
	return (user_id, event) => {
		const own = owned.all(user_id, MAX_TOLD_REALMS) as Realms;
		const others = bound.all(user_id, MAX_TOLD_REALMS - own.length) as Realms;
		for (const { id, slug } of [...own, ...others]) append({ ...event, realm_id: id, realm: slug });
	};
}

function recovery(
	db: Database,
	append: Append,
	keep: (code: ResetCode) => void,
): Implementations<"write">["resets"]["recover"] {
	const target = targetOf(db);
	const others = db.prepare(OTHER_ADMINS).pluck();
	const enable = db.prepare("UPDATE account SET disabled_at = NULL WHERE id = ?");
	const raise = db.prepare("UPDATE account SET instance_admin = 1, disabled_at = NULL WHERE id = ?");
	const shut = db.prepare("UPDATE account SET password = NULL WHERE id = ?");
	const end = endingFactors(db);
	return ({ drop_factors = false, ...code }, event) => {
		const { user_id } = code;
		const decision = decideRecovery(target(user_id), others.get(user_id) as number, drop_factors);
		if (decision.outcome !== "done") return decision;
		const { enabled, made_admin } = decision;
		if (made_admin) raise.run(user_id);
		else if (enabled) enable.run(user_id);
		keep(code);
		// The password goes, too: somebody else may know it.
		if (drop_factors) shut.run(user_id);
		const ended = drop_factors ? end(user_id) : {};
		append(event, { enabled, made_admin, ...ended });
		// The log's own words for what changed.
		if (enabled) append({ ...event, type: "user.enabled", data: { user_id } });
		if (made_admin) append({ ...event, type: "user.admin.set", data: { user_id, instance_admin: true } });
		return { ...decision, ...ended };
	};
}
