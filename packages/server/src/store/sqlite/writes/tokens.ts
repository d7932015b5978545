import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { decideToken, type HeldTokens } from "../../../tokens/decide.ts";
import type { ApiToken, TokenEnd } from "../../../tokens/model.ts";
import { notExpiredAt } from "../../shared-sql.ts";
import { LINEAGE } from "../token-lineage.ts";

/** Maximum number of tokens forgotten in one transaction. */
const AT_ONCE = 1000;

/** Operations on API tokens. */
export function tokenWrites(db: Database, append: Append) {
	const insert = db.prepare(
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, realm_id, environment, engines, maker_id, expires_at, last_used_at, created_at) " +
			"VALUES (@id, @user_id, @name, @prefix, @digest, @scopes, @realm_id, @environment, @engines, @maker_id, @expires_at, @last_used_at, @created_at)",
	);
	const held = db.prepare(
		`SELECT count(*) FILTER (WHERE ${notExpiredAt("@created_at")}) AS live, count(*) FILTER (WHERE expires_at <= @created_at) AS expired ` +
			"FROM api_token WHERE user_id = @user_id",
	);
	const prune = db.prepare(
		"DELETE FROM api_token WHERE id IN (SELECT id FROM api_token WHERE user_id = @user_id AND expires_at <= @created_at " +
			"ORDER BY expires_at LIMIT @forgotten)",
	);
	const forget = db.prepare(
		`DELETE FROM api_token WHERE id IN (SELECT id FROM api_token WHERE expires_at < ? LIMIT ${AT_ONCE})`,
	);
	const owned = db.prepare("SELECT 1 FROM api_token WHERE id = @id AND user_id = @user_id");
	const underneath = db.prepare(
		"WITH RECURSIVE makers (id) AS (SELECT @id UNION SELECT maker_id FROM makers JOIN api_token USING (id)) " +
			"SELECT 1 FROM makers WHERE id = @within",
	);
	const remove = db.prepare(`${LINEAGE} DELETE FROM api_token WHERE id IN (SELECT id FROM lineage)`);
	const [used, usedByMachine] = ["api_token", "machine_token"].map((table) =>
		db.prepare(`UPDATE ${table} SET last_used_at = @at WHERE id = @id`),
	);
	const forgetOfMachines = db.prepare(
		`DELETE FROM machine_token WHERE id IN (SELECT id FROM machine_token WHERE expires_at < ? LIMIT ${AT_ONCE})`,
	);
	return {
		create(token: ApiToken, event: AuditEvent): "done" | "limit_reached" {
			const decision = decideToken(held.get(token) as HeldTokens);
			if (decision.outcome !== "done") return decision.outcome;
			insert.run(token);
			prune.run({ ...token, forgotten: decision.forgotten });
			append(event);
			return "done";
		},
		forgetExpired: (before: string): number => forget.run(before).changes + forgetOfMachines.run(before).changes,
		revoke({ within, ...token }: TokenEnd, event: AuditEvent): "done" | "none" | "outside" {
			if (owned.get(token) === undefined) return "none";
			if (within !== undefined && underneath.get({ id: token.id, within }) === undefined) return "outside";
			const also_ended = remove.run({ id: token.id }).changes - 1;
			append(event, also_ended === 0 ? {} : { also_ended });
			return "done";
		},
		used(input: { id: string; at: string }): void {
			if (used?.run(input).changes === 0) usedByMachine?.run(input);
		},
	};
}
