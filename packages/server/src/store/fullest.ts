import type { RowLimit } from "../limits.ts";
import { notExpiredAt } from "./shared-sql.ts";

/** Maximum number of realms, accounts or machines that are named. */
const MOST = 20;

/** Writes a statement for rows of `name`, `used` and `max`, the fullest first. */
const fullest = (columns: string, from: string) =>
	`SELECT name, used, max FROM (SELECT ${columns} FROM ${from}) AS filled
		ORDER BY CAST(used AS DOUBLE PRECISION) / CASE WHEN max > 1 THEN max ELSE 1 END DESC LIMIT ${MOST}`;

/**
 * Writes the statements that find what is nearest to each limit.
 * @param max the adapter's parameter for the limit in the settings @param now the same for the present instant
 */
export function fullestStatements(max: string, now: string): Record<RowLimit, string> {
	/** Counts the rows of each account, or realm, in a table. */
	const counted = (of: "account" | "realm", table: string, where = "true") => {
		const [name, id] = of === "account" ? ["email", "user_id"] : ["slug", "realm_id"];
		const rows = `(SELECT ${id}, count(*) AS used FROM ${table} WHERE ${where} GROUP BY ${id}) AS held`;
		return fullest(`${name} AS name, held.used, ${max} AS max`, `${rows} JOIN ${of} ON ${of}.id = held.${id}`);
	};
	/** Counts the rows of each machine in a table. */
	const ofMachines = (table: string, where = "true") =>
		fullest(
			`realm.slug || '/' || machine.name AS name, held.used, ${max} AS max`,
			`(SELECT machine_id, count(*) AS used FROM ${table} WHERE ${where} GROUP BY machine_id) AS held
				JOIN machine ON machine.id = held.machine_id JOIN realm ON realm.id = machine.realm_id`,
		);
	const open = `(SELECT created_by AS user_id FROM invitation WHERE expires_at > ${now}) AS open`;
	const invited = "invitation_binding JOIN invitation ON invitation.id = invitation_id";
	return {
		accounts: `SELECT '' AS name, count(*) AS used, ${max} AS max FROM account`,
		realm_bytes: fullest(
			`slug AS name, bytes AS used, coalesce(own.realm_bytes, ${max}) AS max`,
			"realm LEFT JOIN account_limit AS own ON own.user_id = realm.user_id WHERE bytes > 0",
		),
		realms_per_account: fullest(
			`email AS name, held.used, coalesce(own.realms, ${max}) AS max`,
			`(SELECT user_id, count(*) AS used FROM realm GROUP BY user_id) AS held
				JOIN account ON account.id = held.user_id LEFT JOIN account_limit AS own ON own.user_id = held.user_id`,
		),
		bindings_per_realm: counted("realm", "binding"),
		bindings_per_account: counted("account", "binding"),
		tokens_per_account: counted("account", "api_token", notExpiredAt(now)),
		sessions_per_account: counted("account", "session", `expires_at > ${now}`),
		identities_per_account: counted("account", "sso_identity"),
		factors_per_account: counted("account", "factor", "confirmed_at IS NOT NULL"),
		invitations_per_account: counted("account", open),
		invitations_per_realm: counted("realm", invited, `expires_at > ${now}`),
		machines_per_realm: counted("realm", "machine"),
		tokens_per_machine: ofMachines("machine_token", `trust_id IS NULL AND expires_at > ${now}`),
		trusted_tokens_per_machine: ofMachines("machine_token", `trust_id IS NOT NULL AND expires_at > ${now}`),
		trusts_per_machine: ofMachines("trust"),
		used_jwts_per_realm: counted("realm", "trust_used", `until > ${now}`),
	};
}
