import type { Database } from "better-sqlite3";
import { decideRegistration, decideStatusChange } from "../../../accounts/decide.ts";
import type { Account, StatusOutcome } from "../../../accounts/model.ts";
import type { Append } from "../../../audit/chain.ts";
import type { Implementations } from "../../store.ts";
import { everRegistered } from "../ever-registered.ts";
import { verified } from "../row-guard.ts";
import { factorUse, HAS_FACTOR } from "./factors.ts";
import { EMAIL_TAKEN, END_INVITATIONS, invitationUse } from "./invitations.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { DELETE_RESET_CODE, OTHER_ADMINS } from "./resets.ts";
import { sessionOpening } from "./sessions.ts";

/** Adds a row of account; its email must not be taken. */
export const INSERT_ACCOUNT =
	"INSERT INTO account (id, email, name, password, instance_admin, disabled_at, created_at) " +
	"VALUES (@id, @email, @name, @password, @instance_admin, @disabled_at, @created_at)";

type AccountWrites = Implementations<"write">["accounts"];

/** Operations on accounts and sessions. */
export function accountWrites(db: Database, append: Append): AccountWrites {
	const password = db.prepare("UPDATE account SET password = ? WHERE id = ?");
	const useFactor = factorUse(db, append);
	const unchanged = db
		.prepare(`SELECT 1 FROM ${verified("account")} WHERE id = ? AND disabled_at IS NULL AND password IS ?`)
		.pluck();
	const hasFactor = db.prepare(HAS_FACTOR).pluck();
	const open = sessionOpening(db);
	const close = db.prepare("DELETE FROM session WHERE jti = ?");
	const closeOthers = db.prepare("DELETE FROM session WHERE user_id = ? AND jti <> ?");
	const sources = knownSourceWrites(db);
	const endReset = db.prepare(DELETE_RESET_CODE);
	const endInvitations = db.prepare(END_INVITATIONS);
	return {
		register: registration(db, append),
		setPassword(input, event) {
			if (unchanged.get(input.user_id, input.from) === undefined) return "changed";
			const outcome = useFactor(input.user_id, input.factor, event);
			if (outcome !== "done") return outcome;
			password.run(input.password, input.user_id);
			sources.forget(input.user_id);
			endReset.run(input.user_id);
			if (input.known !== undefined) sources.note(input.user_id, input.known);
			const { changes } = closeOthers.run(input.user_id, input.keep);
			append(event, { sessions_ended: changes });
			return "done";
		},
		...statusWrites(db, append, (user_id) => {
			closeOthers.run(user_id, "");
			endReset.run(user_id);
			endInvitations.run(user_id);
			sources.forget(user_id);
		}),
		openSession({ session, password, known }, event) {
			if (unchanged.get(session.user_id, password) === undefined) return false;
			if (hasFactor.get(session.user_id) !== undefined) return false;
			const ended = open(session);
			if (known !== undefined) sources.note(session.user_id, known);
			append(event, ended);
			return true;
		},
		closeSession(jti, event) {
			if (close.run(jti).changes === 0) return false;
			append(event);
			return true;
		},
		setLimits: limitWrite(db, append),
		...housekeeping(db),
	};
}

/** Makes the operations on an account's status. @param end ends what a disabled account may not keep */
function statusWrites(
	db: Database,
	append: Append,
	end: (user_id: string) => void,
): Pick<AccountWrites, "setAdmin" | "setDisabled"> {
	const status = db.prepare(`SELECT instance_admin, disabled_at FROM ${verified("account")} WHERE id = ?`);
	const others = db.prepare(OTHER_ADMINS).pluck();
	const set = db.prepare("UPDATE account SET instance_admin = ?, disabled_at = ? WHERE id = ?");
	const change = (
		user_id: string,
		changes: Partial<Pick<Account, "instance_admin" | "disabled_at">>,
	): StatusOutcome => {
		const row = status.get(user_id) as { instance_admin: number; disabled_at: string | null } | undefined;
		const before = row && { ...row, instance_admin: row.instance_admin === 1 };
		const after = { instance_admin: false, disabled_at: null, ...before, ...changes };
		const decision = decideStatusChange(before, after, others.get(user_id) as number);
		if (decision === "done") set.run(Number(after.instance_admin), after.disabled_at, user_id);
		return decision;
	};
	return {
		setDisabled({ user_id, disabled_at }, event) {
			const outcome = change(user_id, { disabled_at });
			if (outcome !== "done") return outcome;
			if (disabled_at !== null) end(user_id);
			append(event);
			return outcome;
		},
		setAdmin({ user_id, instance_admin }, event) {
			const outcome = change(user_id, { instance_admin });
			if (outcome === "done") append(event);
			return outcome;
		},
	};
}

function registration(db: Database, append: Append): AccountWrites["register"] {
	const taken = db.prepare(EMAIL_TAKEN).pluck();
	// No account is ever removed.
	const count = db.prepare("SELECT coalesce(max(rowid), 0) FROM account").pluck();
	const hadAny = everRegistered(db);
	const insert = db.prepare(INSERT_ACCOUNT);
	const invitations = invitationUse(db, append);
	return (given, event) => {
		const { only_first, most, invitation, ...account } = given;
		const used = invitations.open(invitation === undefined ? [] : [invitation], account.email, account.created_at);
		if (invitation !== undefined && used.length === 0) return { outcome: "not_invited" };
		const decision = decideRegistration(given, {
			isFirst: !hadAny(),
			isEmailTaken: taken.get(account.email) !== undefined,
			count: count.get() as number,
		});
		if (decision.outcome !== "done") return decision;
		const { outcome, first, instance_admin } = decision;
		insert.run({ ...account, instance_admin: Number(instance_admin) });
		append(event, { instance_admin, ...invitations.end(used) });
		return { outcome, first, left_out: invitations.giveRoles(used, account.id, event) };
	};
}

function limitWrite(db: Database, append: Append): AccountWrites["setLimits"] {
	const exists = db.prepare("SELECT 1 FROM account WHERE id = ?").pluck();
	const limit = db.prepare(
		"INSERT INTO account_limit (user_id, realm_bytes, realms) VALUES (@user_id, @realm_bytes, @realms) " +
			"ON CONFLICT (user_id) DO UPDATE SET realm_bytes = excluded.realm_bytes, realms = excluded.realms",
	);
	return (input, event) => {
		if (exists.get(input.user_id) === undefined) return false;
		limit.run(input);
		append(event);
		return true;
	};
}

function housekeeping(db: Database) {
	const dropEnded = db.prepare(
		"DELETE FROM session WHERE jti IN (SELECT jti FROM session WHERE expires_at < ? LIMIT 1000)",
	);
	const dropSources = db.prepare(
		"DELETE FROM known_source WHERE pair IN (SELECT pair FROM known_source WHERE seen_at < ? LIMIT 1000)",
	);
	return {
		dropSessions: (endedBefore: string): number => dropEnded.run(endedBefore).changes,
		dropKnownSources: (before: string): number => dropSources.run(before).changes,
	};
}
