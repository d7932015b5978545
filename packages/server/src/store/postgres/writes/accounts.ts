import { decideRegistration, decideStatusChange } from "../../../accounts/decide.ts";
import type { Account, StatusOutcome } from "../../../accounts/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { everRegistered } from "../reads/accounts.ts";
import { hasFactor } from "../reads/factors.ts";
import { prove } from "./factor-proofs.ts";
import { endInvitations, giveRoles, usableInvitations, useInvitations } from "./invitations.ts";
import { noteSource, openSession } from "./sessions.ts";

type AccountWrites = Async<Implementations<"write">["accounts"]>;

/** Makes the operations on accounts and sessions. */
export function accountWrites(db: Change): AccountWrites {
	return {
		register: (given, event) => register(db, given, event),
		async setPassword({ user_id, from, password, keep, known, factor }, event) {
			const outcome = await prove(db, { user_id, password: from, proof: factor }, event);
			if (outcome !== "done") return outcome;
			await db.update("account", { password }, "id = $1", [user_id]);
			await db.remove("known_source", "user_id = $1", [user_id]);
			await db.remove("reset_code", "user_id = $1", [user_id]);
			if (known !== undefined) await noteSource(db, user_id, known);
			db.append(event, { sessions_ended: await endSessions(db, user_id, keep) });
			return "done";
		},
		...statusWrites(db),
		async openSession({ session, password, known }, event) {
			const { user_id } = session;
			const isUnchanged = "id = $1 AND disabled_at IS NULL AND password IS NOT DISTINCT FROM $2";
			if ((await db.verified("account", isUnchanged, [user_id, password])).length === 0) return false;
			if (await hasFactor(db, user_id)) return false;
			const ended = await openSession(db, session);
			if (known !== undefined) await noteSource(db, user_id, known);
			db.append(event, ended);
			return true;
		},
		async closeSession(jti, event) {
			if ((await db.remove("session", "jti = $1", [jti])) === 0) return false;
			db.append(event);
			return true;
		},
		async setLimits({ user_id, realm_bytes, realms }, event) {
			const limits = { realm_bytes, realms };
			if (!(await db.has("account", "id = $1", [user_id]))) return false;
			const replaced = await db.update("account_limit", limits, "user_id = $1", [user_id]);
			if (replaced === 0) await db.insert("account_limit", { user_id, ...limits });
			db.append(event);
			return true;
		},
		dropSessions: (ended_before) =>
			db.remove("session", "jti IN (SELECT jti FROM session WHERE expires_at < $1 LIMIT 1000)", [ended_before]),
		dropKnownSources: (before) =>
			db.remove("known_source", "pair IN (SELECT pair FROM known_source WHERE seen_at < $1 LIMIT 1000)", [before]),
	};
}

const endSessions = (db: Change, user_id: string, keep = "") =>
	db.remove("session", "user_id = $1 AND jti <> $2", [user_id, keep]);

/** Makes the operations on an account's status. */
function statusWrites(db: Change): Pick<AccountWrites, "setAdmin" | "setDisabled"> {
	const change = async (
		user_id: string,
		changes: Partial<Pick<Account, "instance_admin" | "disabled_at">>,
	): Promise<StatusOutcome> => {
		const [before] = await db.verified("account", "id = $1", [user_id]);
		const others = await db.verified("account", "instance_admin AND disabled_at IS NULL AND id <> $1", [user_id]);
		const { instance_admin, disabled_at } = { instance_admin: false, disabled_at: null, ...before, ...changes };
		const decision = decideStatusChange(before, { instance_admin, disabled_at }, others.length);
		if (decision === "done") await db.update("account", { instance_admin, disabled_at }, "id = $1", [user_id]);
		return decision;
	};
	return {
		async setDisabled({ user_id, disabled_at }, event) {
			const outcome = await change(user_id, { disabled_at });
			if (outcome !== "done") return outcome;
			if (disabled_at !== null) {
				await endSessions(db, user_id);
				await db.remove("reset_code", "user_id = $1", [user_id]);
				await endInvitations(db, "created_by = $1", [user_id]);
				await db.remove("known_source", "user_id = $1", [user_id]);
			}
			db.append(event);
			return outcome;
		},
		async setAdmin({ user_id, instance_admin }, event) {
			const outcome = await change(user_id, { instance_admin });
			if (outcome === "done") db.append(event);
			return outcome;
		},
	};
}

async function register(
	db: Change,
	...[given, event]: Parameters<AccountWrites["register"]>
): ReturnType<AccountWrites["register"]> {
	const { only_first, most, invitation, ...account } = given;
	const named = invitation === undefined ? [] : [invitation];
	const used = await usableInvitations(db, named, account.email, account.created_at);
	if (invitation !== undefined && used.length === 0) return { outcome: "not_invited" };
	const decision = decideRegistration(given, {
		isFirst: !(await everRegistered(db)),
		isEmailTaken: await db.has("account", "email = $1", [account.email]),
		count: await db.count("account", "true"),
	});
	if (decision.outcome !== "done") return decision;
	const { outcome, first, instance_admin } = decision;
	await db.insert("account", { ...account, instance_admin });
	db.append(event, { instance_admin, ...(await useInvitations(db, used)) });
	return { outcome, first, left_out: await giveRoles(db, used, account.id, event) };
}
