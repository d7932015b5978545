import type { Database } from "better-sqlite3";
import type { Admission } from "../../../policy/model.ts";

/**
 * Prepares the question whether what a caller was let in by holds at that time: it may have been ended while a body was held back, or while a
 * directory was asked.
 */
export function standing(db: Database): (admission: Admission, at: string) => boolean {
	const session = db.prepare("SELECT 1 FROM session WHERE jti = ? AND expires_at > ?");
	// Not a join: this SQLite prepares one anew whenever a parameter is bound.
	const token = db.prepare(
		"SELECT 1 FROM api_token WHERE id = ? AND coalesce(expires_at, '~') > ? " +
			"AND (SELECT disabled_at IS NULL FROM account WHERE id = user_id)",
	);
	return ({ jti, token_id }, at) =>
		(token_id === undefined ? session.get(jti, at) : token.get(token_id, at)) !== undefined;
}
