import { waitAfter } from "../../../attempts/decide.ts";
import {
	ATTEMPT_WINDOWS_MS,
	type AttemptKind,
	type Attempts,
	MAX_ATTEMPT_NAMES,
	MAX_WAIT_MS,
} from "../../../attempts/model.ts";
import { attemptsInMemory } from "../../memory/attempts.ts";
import type { Briefs } from "../../store.ts";
import type { Sql } from "../connection.ts";
import type { Async } from "../database.ts";
import type { ReadPool } from "../read-pools.ts";

/** New names between two removals of old ones. */
const REMOVED_EVERY = 1024;

const ADD = `INSERT INTO attempt (kind, name, count, ends_at, waits_until)
	SELECT $1, name, 1, clock_timestamp() + $3::bigint * interval '1 ms', '-infinity' FROM unnest($2::text[]) AS name ORDER BY name
	ON CONFLICT (kind, name) DO UPDATE SET
		count = CASE WHEN attempt.ends_at > clock_timestamp() THEN attempt.count + 1 ELSE 1 END,
		ends_at = CASE WHEN attempt.ends_at > clock_timestamp() THEN attempt.ends_at ELSE excluded.ends_at END
	RETURNING name, count`;

const BLOCK = `UPDATE attempt SET waits_until = greatest(waits_until, clock_timestamp() + wait_ms * interval '1 ms')
	FROM unnest($2::text[], $3::bigint[]) AS blocked (name, wait_ms) WHERE wait_ms > 0 AND attempt.kind = $1 AND attempt.name = blocked.name`;

/** A wait that is longer than any, or a window, was not written by a server. */
const GET = `SELECT name, count,
		ceil(extract(epoch FROM ends_at - clock_timestamp()) * 1000)::bigint AS left_ms,
		CASE WHEN waits_until > clock_timestamp() AND waits_until <= clock_timestamp() + interval '${MAX_WAIT_MS} ms'
			THEN ceil(extract(epoch FROM waits_until - clock_timestamp()) * 1000)::bigint ELSE 0 END AS wait_ms
	FROM attempt WHERE kind = $1 AND name = ANY($2::text[]) AND ends_at <= clock_timestamp() + interval '1 day'`;

const FULLEST =
	"SELECT coalesce(max(count), 0) AS most FROM attempt WHERE kind = $1 AND starts_with(name, $2) AND ends_at > clock_timestamp()";

/** Removes names that neither count nor wait. If there are still too many, removes the oldest, waiting ones last. */
const REMOVE = [
	"DELETE FROM attempt WHERE kind = $1 AND ends_at <= clock_timestamp() AND waits_until <= clock_timestamp()",
	`DELETE FROM attempt WHERE kind = $1 AND name IN (SELECT name FROM attempt WHERE kind = $1
		ORDER BY waits_until > clock_timestamp() DESC, ends_at DESC OFFSET ${MAX_ATTEMPT_NAMES})`,
];

/**
 * Counts failed attempts in rows, and in memory, too: another program that removes rows gives nobody more guesses than one server alone admits.
 * @param sql runs one statement at a time
 */
export function createAttempts(sql: Sql, pool: ReadPool): Async<Briefs["attempts"]> {
	const own = attemptsInMemory();
	let added = 0;

	async function removeOld(kind: AttemptKind, fresh: number): Promise<void> {
		added += fresh;
		if (added < REMOVED_EVERY) return;
		added = 0;
		for (const remove of REMOVE) await sql.run(remove, [kind]);
	}

	return {
		async add(kind, failures) {
			const mine = own.add(kind, failures);
			const names = failures.map(({ name }) => name);
			const rows = await sql.rows<{ name: string; count: number }>(ADD, [kind, names, ATTEMPT_WINDOWS_MS[kind]]);
			const found = new Map(rows.map(({ name, count }) => [name, count]));
			const counts = names.map((name, index) => Math.max(mine[index] ?? 0, found.get(name) ?? 0));
			const waits = failures.map(({ backoff }, index) => waitAfter(counts[index] ?? 0, backoff));
			if (waits.some((wait_ms) => wait_ms > 0)) await sql.run(BLOCK, [kind, names, waits]);
			await removeOld(kind, rows.filter(({ count }) => count === 1).length);
			return counts;
		},
		async get(kind, names) {
			const mine = own.get(kind, names);
			if (mine.some(({ wait_ms }) => wait_ms > 0)) return mine;
			const rows = await pool.ask((session) => session.rows<Attempts & { name: string }>(GET, [kind, names]));
			const found = new Map(rows.map(({ name, ...row }) => [name, row]));
			return mine.map((one, index) => merged(one, found.get(names[index] ?? "")));
		},
		async fullest(kind, prefix) {
			const [row] = await pool.ask((session) => session.rows<{ most: number }>(FULLEST, [kind, prefix]));
			return Math.max(own.fullest(kind, prefix), row?.most ?? 0);
		},
	};
}

/** Joins what this server has counted with what all have. */
function merged(mine: Attempts, all: Attempts | undefined): Attempts {
	if (all === undefined) return mine;
	const counted = all.left_ms > 0 && all.count > mine.count ? all : mine;
	return { count: counted.count, left_ms: counted.left_ms, wait_ms: Math.max(mine.wait_ms, all.wait_ms) };
}
