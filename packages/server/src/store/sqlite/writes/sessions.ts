import type { Database } from "better-sqlite3";
import { sessionsToEnd } from "../../../accounts/decide.ts";
import type { Session } from "../../../accounts/model.ts";

/** Prepares the last step of every way to sign in. */
export function sessionOpening(db: Database): (session: Session) => { sessions_ended: number | undefined } {
	const insert = db.prepare(
		"INSERT INTO session (jti, user_id, created_at, expires_at, provider) VALUES (@jti, @user_id, @created_at, @expires_at, @provider)",
	);
	const endOldest = db.prepare(
		"DELETE FROM session WHERE jti IN " +
			"(SELECT jti FROM session WHERE user_id = ? ORDER BY created_at, jti LIMIT ?)",
	);
	const count = db.prepare("SELECT count(*) FROM session WHERE user_id = ?").pluck();
	/** Adds a session, and ends the account's oldest ones that exceed the limit. The result is part of the event. */
	return (session) => {
		const { changes } = endOldest.run(session.user_id, sessionsToEnd(count.get(session.user_id) as number));
		insert.run(session);
		return { sessions_ended: changes === 0 ? undefined : changes };
	};
}
