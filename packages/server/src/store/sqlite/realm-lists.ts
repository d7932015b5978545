import type { Database } from "better-sqlite3";
import type { Filled, RowLimit } from "../../limits.ts";
import type { DeletedRealm, Fullest, RealmStore, Restorable } from "../../realms/model.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";
import { notExpiredAt } from "./token-lineage.ts";

/** Maximum number of realms, accounts or machines that are named. */
const MOST = 20;

/** Rows of `name`, `used` and `max`, the fullest first. */
const fullest = (columns: string, from: string) =>
	`SELECT ${columns} FROM ${from} ORDER BY CAST(used AS REAL) / max(1, max) DESC LIMIT ${MOST}`;

/** Counts the rows of each account, or realm, in a table. */
const counted = (of: "account" | "realm", table: string, where = "true") => {
	const [name, id] = of === "account" ? ["email", "user_id"] : ["slug", "realm_id"];
	const rows = `(SELECT ${id}, count(*) AS used FROM ${table} WHERE ${where} GROUP BY ${id}) AS held`;
	return fullest(`${name} AS name, held.used, @max AS max`, `${rows} JOIN ${of} ON ${of}.id = held.${id}`);
};

/** Counts the rows of each machine in a table. */
const ofMachines = (table: string, where = "true") =>
	fullest(
		"realm.slug || '/' || machine.name AS name, held.used, @max AS max",
		`(SELECT machine_id, count(*) AS used FROM ${table} WHERE ${where} GROUP BY machine_id) AS held
			JOIN machine ON machine.id = held.machine_id JOIN realm ON realm.id = machine.realm_id`,
	);

const FULLEST: Record<RowLimit, string> = {
	accounts: "SELECT '' AS name, count(*) AS used, @max AS max FROM account",
	realm_bytes: fullest(
		"slug AS name, bytes AS used, coalesce(own.realm_bytes, @max) AS max",
		"realm LEFT JOIN account_limit AS own ON own.user_id = realm.user_id WHERE bytes > 0",
	),
	realms_per_account: fullest(
		"email AS name, held.used, coalesce(own.realms, @max) AS max",
		"(SELECT user_id, count(*) AS used FROM realm GROUP BY user_id) AS held " +
			"JOIN account ON account.id = held.user_id LEFT JOIN account_limit AS own ON own.user_id = held.user_id",
	),
	bindings_per_realm: counted("realm", "binding"),
	bindings_per_account: counted("account", "binding"),
	tokens_per_account: counted("account", "api_token", notExpiredAt("@now")),
	sessions_per_account: counted("account", "session", "expires_at > @now"),
	identities_per_account: counted("account", "sso_identity"),
	factors_per_account: counted("account", "factor", "confirmed_at IS NOT NULL"),
	invitations_per_account: counted(
		"account",
		"(SELECT created_by AS user_id FROM invitation WHERE expires_at > @now) AS open",
	),
	invitations_per_realm: counted(
		"realm",
		"invitation_binding JOIN invitation ON invitation.id = invitation_id",
		"expires_at > @now",
	),
	machines_per_realm: counted("realm", "machine"),
	tokens_per_machine: ofMachines("machine_token", "trust_id IS NULL AND expires_at > @now"),
	trusted_tokens_per_machine: ofMachines("machine_token", "trust_id IS NOT NULL AND expires_at > @now"),
	trusts_per_machine: ofMachines("trust"),
	used_jwts_per_realm: counted("realm", "trust_used", "until > @now"),
};

/** Deleted realms with tokens limited to them, or with tokens or trusts of their machines. */
const UNENDED = `SELECT id FROM realm WHERE deleted_at IS NOT NULL AND (
	EXISTS (SELECT 1 FROM api_token WHERE realm_id = realm.id)
	OR EXISTS (SELECT 1 FROM machine WHERE realm_id = realm.id AND (
		EXISTS (SELECT 1 FROM machine_token WHERE machine_id = machine.id) OR EXISTS (SELECT 1 FROM trust WHERE machine_id = machine.id))))`;

/** Deleted realms that can be restored, as the rows are: an account's, or all. */
const restorable = ({ user_id }: Restorable) =>
	`realm WHERE deleted_at > @since${user_id === undefined ? "" : " AND user_id = @user_id"}`;

/** Questions about all realms and accounts. They run in the reader thread. */
export function realmLists(db: Database) {
	const prepare = createStatements(db);
	return {
		deleted(which: Restorable, after: string, limit: number): DeletedRealm[] {
			const page = `SELECT id FROM ${restorable(which)} AND id > @after ORDER BY id LIMIT @limit`;
			const found = prepare(
				"SELECT id, slug, name, description, user_id, created_at, coalesce(deleted_by, '') AS deleted_by, deleted_at " +
					`FROM ${verified("realm")} WHERE id IN (${page}) ORDER BY id`,
			);
			return found.all({ ...which, after, limit }) as DeletedRealm[];
		},
		countDeleted(which: Restorable): number {
			return (prepare(`SELECT count(*) AS total FROM ${restorable(which)}`).get({ ...which }) as { total: number })
				.total;
		},
		unended: () => prepare(UNENDED).pluck().all() as string[],
		fullest({ max, now }: Parameters<RealmStore["fullest"]>[0]): Fullest {
			const ask = (limit: RowLimit) => prepare(FULLEST[limit]).all({ max: max[limit], now }) as Filled[];
			const limits = Object.keys(FULLEST) as RowLimit[];
			return Object.fromEntries(limits.map((limit) => [limit, ask(limit)])) as Fullest;
		},
	};
}
