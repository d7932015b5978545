import type { Filled, RowLimit } from "../../../limits.ts";
import type { Fullest, RealmStore } from "../../../realms/model.ts";
import type { Sql } from "../connection.ts";

/** Maximum number of realms, accounts or machines that are named. */
const MOST = 20;

/** Rows of `name`, `used` and `max`, the fullest first. $1 is the limit in the settings. */
const fullest = (columns: string, from: string) =>
	`SELECT name, used, max FROM (SELECT ${columns} FROM ${from}) AS filled ORDER BY used::float8 / greatest(1, max) DESC LIMIT ${MOST}`;

/** Counts the rows of each account, or realm, in a table. */
const counted = (of: "account" | "realm", table: string, where = "true") => {
	const [name, id] = of === "account" ? ["email", "user_id"] : ["slug", "realm_id"];
	const rows = `(SELECT ${id}, count(*) AS used FROM ${table} WHERE ${where} GROUP BY ${id}) AS held`;
	return fullest(`${name} AS name, held.used, $1::bigint AS max`, `${rows} JOIN ${of} ON ${of}.id = held.${id}`);
};

/** Counts the rows of each machine in a table. */
const ofMachines = (table: string, where = "true") =>
	fullest(
		"realm.slug || '/' || machine.name AS name, held.used, $1::bigint AS max",
		`(SELECT machine_id, count(*) AS used FROM ${table} WHERE ${where} GROUP BY machine_id) AS held
			JOIN machine ON machine.id = held.machine_id JOIN realm ON realm.id = machine.realm_id`,
	);

/** Statements by limit; those that name an instant have it as $2. */
const FULLEST: Record<RowLimit, string> = {
	accounts: "SELECT '' AS name, count(*) AS used, $1::bigint AS max FROM account",
	realm_bytes: fullest(
		"slug AS name, bytes AS used, coalesce(own.realm_bytes, $1::bigint) AS max",
		"realm LEFT JOIN account_limit AS own ON own.user_id = realm.user_id WHERE bytes > 0",
	),
	realms_per_account: fullest(
		"email AS name, held.used, coalesce(own.realms, $1::bigint) AS max",
		"(SELECT user_id, count(*) AS used FROM realm GROUP BY user_id) AS held " +
			"JOIN account ON account.id = held.user_id LEFT JOIN account_limit AS own ON own.user_id = held.user_id",
	),
	bindings_per_realm: counted("realm", "binding"),
	bindings_per_account: counted("account", "binding"),
	tokens_per_account: counted("account", "api_token", "coalesce(expires_at, '~') > $2"),
	sessions_per_account: counted("account", "session", "expires_at > $2"),
	identities_per_account: counted("account", "sso_identity"),
	factors_per_account: counted("account", "factor", "confirmed_at IS NOT NULL"),
	invitations_per_account: counted(
		"account",
		"(SELECT created_by AS user_id FROM invitation WHERE expires_at > $2) AS open",
	),
	invitations_per_realm: counted(
		"realm",
		"invitation_binding JOIN invitation ON invitation.id = invitation_id",
		"expires_at > $2",
	),
	machines_per_realm: counted("realm", "machine"),
	tokens_per_machine: ofMachines("machine_token", "trust_id IS NULL AND expires_at > $2"),
	trusted_tokens_per_machine: ofMachines("machine_token", "trust_id IS NOT NULL AND expires_at > $2"),
	trusts_per_machine: ofMachines("trust"),
	used_jwts_per_realm: counted("realm", "trust_used", "until > $2"),
};

/** Finds the realms, accounts and machines nearest to their limits. */
export async function fullestOf(sql: Sql, { max, now }: Parameters<RealmStore["fullest"]>[0]): Promise<Fullest> {
	const found: Partial<Fullest> = {};
	for (const [limit, text] of Object.entries(FULLEST) as [RowLimit, string][])
		found[limit] = await sql.rows<Filled>(text, text.includes("$2") ? [max[limit], now] : [max[limit]]);
	return found as Fullest;
}
