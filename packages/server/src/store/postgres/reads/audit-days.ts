import type { DayCounts, DayRange } from "../../../audit/event-query.ts";
import { SETS_WITH_KEYS } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Sql } from "../connection.ts";
import type { Async } from "../database.ts";

type AuditDays = Pick<Async<Implementations<"scan">["audit"]>, "perDay" | "readsPerDay">;

/** Days of a range, by two lists of their first instants and of the instants behind them. */
const days = (starts: string, ends: string) =>
	`unnest(${starts}::text[], ${ends}::text[]) WITH ORDINALITY AS day (start, behind, at)`;

const PER_DAY = `SELECT count(e.timestamp) AS events, count(*) FILTER (WHERE e.type = 'access.denied') AS denials
	FROM ${days("$2", "$3")}
	LEFT JOIN audit_event e ON e.realm_id = $1 AND e.timestamp >= day.start AND e.timestamp < day.behind
	GROUP BY day.at ORDER BY day.at`;

/** Events of one kind in the range, the newest first, and only this many: an index has them in this order. */
const newest = (which: string) => `(SELECT timestamp, type, environment FROM audit_event
	WHERE ${which} AND realm_id = $1 AND timestamp >= $3 AND timestamp < $4 ORDER BY timestamp DESC LIMIT $5)`;

/** Reads of values: a list without values, and a comparison, show none. */
const IS_READ = "l.type IN ('secret.read', 'secret.list', 'secret.sync') AND coalesce(l.environment, '') IN ('', $6)";

const READS_PER_DAY = `WITH looked AS MATERIALIZED (
		${newest("key = $2")}
		UNION ALL
		${newest(`key_set IN (SELECT s.hash FROM ${SETS_WITH_KEYS} WHERE k.key = $2 AND s.realm_id = $1)`)}
		ORDER BY timestamp DESC LIMIT $5
	), bounds AS (SELECT count(*) AS looked, min(timestamp) AS first FROM looked)
	SELECT bounds.looked, bounds.first, count(l.timestamp) FILTER (WHERE ${IS_READ}) AS reads
	FROM bounds CROSS JOIN ${days("$7", "$8")} LEFT JOIN looked l ON l.timestamp >= day.start AND l.timestamp < day.behind
	GROUP BY day.at, bounds.looked, bounds.first ORDER BY day.at`;

/** Answers questions about the log by day. */
export function auditDays(sql: Sql): AuditDays {
	return {
		perDay: (realm_id, range) => sql.rows<DayCounts>(PER_DAY, [realm_id, range.starts, endsOf(range)]),
		async readsPerDay({ realm_id, key, environment }, range, most) {
			const { starts, end } = range;
			const found = await sql.rows<{ reads: number; looked: number; first: string | null }>(READS_PER_DAY, [
				...[realm_id, key, starts[0], end, most, environment],
				...[starts, endsOf(range)],
			]);
			const { looked = 0, first } = found[0] ?? {};
			// Of the day of the oldest one, there may be more.
			const whole = looked < most ? 0 : starts.findLastIndex((start) => start <= (first ?? "")) + 1;
			return { reads: found.slice(whole).map(({ reads }) => reads), isCut: whole > 0 };
		},
	};
}

const endsOf = ({ starts, end }: DayRange) => [...starts.slice(1), end];
