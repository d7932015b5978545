import type { Database } from "better-sqlite3";
import { limitsText } from "../../../machines/decide.ts";
import type { CurrentAccess } from "../../../policy/decide.ts";
import type { Role } from "../../../policy/model.ts";
import { notExpiredAt } from "../../shared-sql.ts";
import { verified } from "../row-guard.ts";
import { LIVE_REALM } from "./live-realm.ts";

type Found = Parameters<typeof limitsText>[0] & { realm_id: string };

/**
 * Prepares the reads of a maker's current access: a session may have ended, or a role been revoked, while a body arrived slowly, a password was
 * computed, or a directory asked. SQLite would prepare joins again whenever a parameter is bound.
 */
export function currentAccess(db: Database): (at: string) => CurrentAccess {
	const session = db.prepare(`SELECT user_id FROM ${verified("session")} WHERE jti = ? AND expires_at > ?`).pluck();
	const token = db
		.prepare(`SELECT user_id FROM ${verified("api_token")} WHERE id = ? AND ${notExpiredAt("?")}`)
		.pluck();
	const ofMachine = db
		.prepare(`SELECT machine_id FROM ${verified("machine_token")} WHERE id = ? AND ${notExpiredAt("?")}`)
		.pluck();
	const machine = db.prepare(`SELECT realm_id, scopes, environment, engines FROM ${verified("machine")} WHERE id = ?`);
	const account = db
		.prepare(`SELECT instance_admin FROM ${verified("account")} WHERE id = ? AND disabled_at IS NULL`)
		.pluck();
	const owner = db.prepare(LIVE_REALM).pluck();
	const bound = db.prepare(`SELECT role FROM ${verified("binding")} WHERE realm_id = ? AND user_id = ?`).pluck();
	const roleOf = db.prepare(`SELECT role FROM ${verified("machine")} WHERE id = ? AND realm_id = ?`).pluck();
	return (at) => ({
		account({ user_id, machine: caller, jti, token_id }) {
			if (caller !== undefined) {
				const found = ofMachine.get(token_id, at) === user_id ? (machine.get(user_id) as Found | undefined) : undefined;
				if (found === undefined || owner.get(found.realm_id) === undefined) return undefined;
				return { instance_admin: false, limits: limitsText(found) };
			}
			const holder = token_id === undefined ? session.get(jti, at) : token.get(token_id, at);
			const isAdmin = holder === user_id ? account.get(user_id) : undefined;
			return isAdmin === undefined ? undefined : { instance_admin: isAdmin === 1 };
		},
		role(realm_id, user_id) {
			const owner_id = owner.get(realm_id);
			if (owner_id === undefined) return undefined;
			if (owner_id === user_id) return "admin";
			return ((bound.get(realm_id, user_id) ?? roleOf.get(user_id, realm_id)) as Role | undefined) ?? null;
		},
	});
}
