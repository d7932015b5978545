import type { Database } from "better-sqlite3";
import { type KnownSource, MAX_KNOWN_SOURCES } from "../../../accounts/model.ts";

/** Prepares what operations that open sessions, or take access back, do with the sources that an account is known to sign in from. */
export function knownSourceWrites(db: Database) {
	const note = db.prepare(
		"INSERT INTO known_source (pair, user_id, seen_at) VALUES (@pair, @user_id, @seen_at) ON CONFLICT (pair) DO UPDATE " +
			"SET user_id = excluded.user_id, seen_at = excluded.seen_at WHERE seen_at < @renew_before OR user_id <> excluded.user_id",
	);
	const prune = db.prepare(
		"DELETE FROM known_source WHERE pair IN " +
			`(SELECT pair FROM known_source WHERE user_id = ? ORDER BY seen_at DESC LIMIT -1 OFFSET ${MAX_KNOWN_SOURCES})`,
	);
	const forget = db.prepare("DELETE FROM known_source WHERE user_id = ?");
	return {
		/** Keeps a source, the newest of each account. */
		note(user_id: string, known: KnownSource): void {
			if (note.run({ ...known, user_id }).changes > 0) prune.run(user_id);
		},
		/** Makes all sources of an account strangers. */
		forget: (user_id: string): void => void forget.run(user_id),
	};
}
