import type { Database } from "better-sqlite3";
import { sourcesToForget } from "../../../accounts/decide.ts";
import type { KnownSource } from "../../../accounts/model.ts";

/** Prepares the changes of an account's known sources, for operations that open sessions or revoke access. */
export function knownSourceWrites(db: Database) {
	const note = db.prepare(
		"INSERT INTO known_source (pair, user_id, seen_at) VALUES (@pair, @user_id, @seen_at) ON CONFLICT (pair) DO UPDATE " +
			"SET user_id = excluded.user_id, seen_at = excluded.seen_at WHERE seen_at < @renew_before OR user_id <> excluded.user_id",
	);
	const prune = db.prepare(
		"DELETE FROM known_source WHERE pair IN (SELECT pair FROM known_source WHERE user_id = ? ORDER BY seen_at LIMIT ?)",
	);
	const count = db.prepare("SELECT count(*) FROM known_source WHERE user_id = ?").pluck();
	const forget = db.prepare("DELETE FROM known_source WHERE user_id = ?");
	return {
		/** Records a source; each account keeps its newest ones. */
		note(user_id: string, known: KnownSource): void {
			if (note.run({ ...known, user_id }).changes > 0)
				prune.run(user_id, sourcesToForget(count.get(user_id) as number));
		},
		/** Forgets all sources of an account. */
		forget: (user_id: string): void => void forget.run(user_id),
	};
}
