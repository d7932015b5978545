import { MAX_SESSION_USES, type SessionUse } from "../../../policy/model.ts";
import type { Briefs } from "../../store.ts";
import type { Sql } from "../connection.ts";
import type { Async } from "../database.ts";
import type { ReadPool } from "../read-pools.ts";

/** Notes between two removals of old ones. */
const REMOVED_EVERY = 1024;

const NOTE = `INSERT INTO session_use (jti, at, ip, agent) VALUES ($1, $2, $3, $4)
	ON CONFLICT (jti) DO UPDATE SET at = excluded.at, ip = excluded.ip, agent = excluded.agent`;

const LAST = "SELECT jti, at, ip, agent FROM session_use WHERE jti = ANY($1::text[])";

const REMOVE = `DELETE FROM session_use WHERE jti IN (SELECT jti FROM session_use ORDER BY at DESC, jti OFFSET ${MAX_SESSION_USES})`;

/**
 * Keeps the last use of each session in rows, for people to look at.
 * @param sql runs one statement at a time
 */
export function createSessionUses(sql: Sql, pool: ReadPool): Async<Briefs["accounts"]> {
	let noted = 0;
	return {
		async noteUse(jti, { at, ip, agent }) {
			await sql.run(NOTE, [jti, at, ip, agent]);
			noted += 1;
			if (noted < REMOVED_EVERY) return;
			noted = 0;
			await sql.run(REMOVE);
		},
		async lastUses(jtis) {
			const rows = await pool.ask((session) => session.rows<SessionUse & { jti: string }>(LAST, [jtis]));
			const found = new Map(rows.map(({ jti, ...use }) => [jti, use]));
			return jtis.map((jti) => found.get(jti));
		},
	};
}
