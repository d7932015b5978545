import type { Briefs } from "../../store.ts";
import type { Sql } from "../connection.ts";
import type { All, Change } from "../database.ts";
import type { ReadPool } from "../read-pools.ts";
import type { Writer } from "../writer.ts";
import { createAttempts } from "./attempts.ts";
import { challengeChanges, countChallenges } from "./challenges.ts";
import { createJwtSources } from "./jwt-sources.ts";
import { createSessionUses } from "./session-uses.ts";
import { codeChanges } from "./sso-codes.ts";

/** Places of short-lived facts. */
interface Ways {
	change: Change;
	writer: Writer;
	pool: ReadPool;
	/** Runs statements of their own, which wait for no change. */
	statements: Sql;
}

/** A fact that has no event counts for nobody. */
const NO_EVENT = { event: undefined, count: 0 };

/** Keeps short-lived facts in rows, which all servers of the database see. */
export function createBriefs({ change, writer, pool, statements }: Ways): All<Briefs> {
	const inChange =
		<Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
		(...args: Args) =>
			writer.run(run as (...args: unknown[]) => Promise<unknown>, args, NO_EVENT, []) as Promise<Result>;
	const { useChallenge } = challengeChanges(change);
	const { keepCode, takeCode } = codeChanges(change);
	return {
		accounts: createSessionUses(statements, pool),
		attempts: createAttempts(statements, pool),
		factors: {
			useChallenge: inChange(useChallenge),
			countChallenges: (now_ms) => pool.ask((session) => countChallenges(session, now_ms)),
		},
		sso: { keepCode: inChange(keepCode), takeCode: inChange(takeCode) },
		trusts: createJwtSources(statements),
	};
}
