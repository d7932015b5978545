import { sessionsToEnd, sourcesToForget } from "../../../accounts/decide.ts";
import type { KnownSource, Session } from "../../../accounts/model.ts";
import type { Change } from "../database.ts";

/** Adds a session, and ends the account's oldest ones that exceed the limit. The result is part of the event. */
export async function openSession(db: Change, session: Session): Promise<{ sessions_ended: number | undefined }> {
	const { user_id } = session;
	const ended = await db.remove(
		"session",
		"jti IN (SELECT jti FROM session WHERE user_id = $1 ORDER BY created_at, jti LIMIT $2)",
		[user_id, sessionsToEnd(await db.count("session", "user_id = $1", [user_id]))],
	);
	await db.insert("session", session);
	return { sessions_ended: ended === 0 ? undefined : ended };
}

/** Records a source that an account signed in from; each account keeps its newest ones. */
export async function noteSource(db: Change, user_id: string, known: KnownSource): Promise<void> {
	const { pair, seen_at, renew_before } = known;
	if (await db.has("known_source", "pair = $1", [pair])) {
		const isOld = "pair = $1 AND (seen_at < $2 OR user_id <> $3)";
		const renewed = await db.update("known_source", { user_id, seen_at }, isOld, [pair, renew_before, user_id]);
		if (renewed === 0) return;
	} else await db.insert("known_source", { pair, user_id, seen_at });
	await db.remove(
		"known_source",
		"pair IN (SELECT pair FROM known_source WHERE user_id = $1 ORDER BY seen_at LIMIT $2)",
		[user_id, sourcesToForget(await db.count("known_source", "user_id = $1", [user_id]))],
	);
}
