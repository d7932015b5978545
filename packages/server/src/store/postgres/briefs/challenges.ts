import { decideChallenge } from "../../../factors/decide.ts";
import type { Briefs } from "../../store.ts";
import type { Sql } from "../connection.ts";
import type { Async, Change } from "../database.ts";
import { useOnce } from "../writes/sso-once.ts";

type Challenges = Async<Briefs["factors"]>;

/** Makes the change that uses up a challenge. Its mark has a MAC, since it grants by being absent; the row that counts it has none. */
export function challengeChanges({ sql, ...db }: Change): Pick<Challenges, "useChallenge"> {
	return {
		async useChallenge({ digest, user_id, until_ms }, now_ms) {
			await sql.run("DELETE FROM challenge_count WHERE until_ms <= $1", [now_ms]);
			const [count] = await sql.rows<{ total: number; of_account: number }>(
				"SELECT count(*) AS total, count(*) FILTER (WHERE user_id = $1) AS of_account FROM challenge_count",
				[user_id],
			);
			const isUsed = await db.has("sso_used", "digest = $1", [digest]);
			const outcome = decideChallenge(isUsed, count?.of_account ?? 0, count?.total ?? 0);
			if (outcome !== "done") return outcome;
			await useOnce({ sql, ...db }, { digest, until: new Date(until_ms).toISOString() });
			await sql.run("INSERT INTO challenge_count (user_id, until_ms) VALUES ($1, $2)", [user_id, until_ms]);
			return outcome;
		},
	};
}

/** Counts the challenges that are used. */
export async function countChallenges(sql: Sql, now_ms: number): ReturnType<Challenges["countChallenges"]> {
	const [counts] = await sql.rows<{ total: number; most: number }>(
		`SELECT coalesce(sum(own), 0)::bigint AS total, coalesce(max(own), 0) AS most
			FROM (SELECT count(*) AS own FROM challenge_count WHERE until_ms > $1 GROUP BY user_id) AS of_accounts`,
		[now_ms],
	);
	return { all: counts?.total ?? 0, of_account: counts?.most ?? 0 };
}
