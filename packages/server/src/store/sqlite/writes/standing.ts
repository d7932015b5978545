import type { Database } from "better-sqlite3";
import type { Admission } from "../../../policy/model.ts";

/**
 * Prepares the question whether what a caller was let in by holds at that time: it may have been ended while a body was held back, or while a
 * directory was asked.
 */
export function standing(db: Database): (admission: Admission, at: string) => boolean {
	const session = db.prepare("SELECT 1 FROM session WHERE jti = ? AND expires_at > ?");
	const token = db.prepare(
		"SELECT 1 FROM api_token JOIN account ON account.id = api_token.user_id " +
			"WHERE api_token.id = ? AND account.disabled_at IS NULL AND coalesce(api_token.expires_at, '~') > ?",
	);
	return ({ jti, token_id }, at) =>
		(token_id === undefined ? session.get(jti, at) : token.get(token_id, at)) !== undefined;
}
