import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../../audit/model.ts";
import type { ApiToken } from "../../../tokens/model.ts";
import type { Append } from "./audit.ts";

/** Operations on API tokens. */
export function tokenWrites(db: Database, append: Append) {
	const insert = db.prepare(
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, realm_id, environment, engines, maker_id, expires_at, last_used_at, created_at) " +
			"VALUES (@id, @user_id, @name, @prefix, @digest, @scopes, @realm_id, @environment, @engines, @maker_id, @expires_at, @last_used_at, @created_at)",
	);
	const remove = db.prepare("DELETE FROM api_token WHERE id = ? AND user_id = ?");
	const used = db.prepare("UPDATE api_token SET last_used_at = ? WHERE id = ?");
	return {
		create(token: ApiToken, event: AuditEvent): void {
			insert.run(token);
			append(event);
		},
		revoke(input: { id: string; user_id: string }, event: AuditEvent): boolean {
			if (remove.run(input.id, input.user_id).changes === 0) return false;
			append(event);
			return true;
		},
		used: (input: { id: string; at: string }): void => void used.run(input.at, input.id),
	};
}
