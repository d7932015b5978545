import type { AppError } from "../../errors.ts";
import { type Caused, type Counted, causersOf, countEvents, LOW_SHARE, mostIn, tooManyEvents } from "../low-disk.ts";
import type { Sql } from "./connection.ts";

/** Milliseconds between two measurements of the database. */
const FRESH_MS = 5000;

const SIZE = "SELECT pg_database_size(current_database()) AS bytes";
const NOW = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";
const FIND = "SELECT name, times, scale FROM busy_caller WHERE name = ANY($1::text[])";
const KEEP = `INSERT INTO busy_caller (name, times, scale, ends_at) VALUES ($1, $2::float8[], $3, $4)
	ON CONFLICT (name) DO UPDATE SET times = excluded.times, scale = excluded.scale, ends_at = excluded.ends_at`;
const FORGET = "DELETE FROM busy_caller WHERE ends_at < $1";

/** Milliseconds for which the latest event of a caller counts. */
const COUNTED_MS = 1000;

/** Slows down accounts and sources that fill the database, on all servers together. */
export interface DatabaseThrottle {
	/** Counts events of the running transaction, which are about to be written; returns the refusal if there are too many. */
	refuse(counted: Counted): Promise<AppError | undefined>;
	/** Highest number of events of one account or source in the last second, and the number of refusals since the start, as this server knows them. */
	seen(): { most: number; refused: number };
}

/**
 * Makes the throttle. The servers count in rows, in the transaction of the change and by the database's clock.
 * @param sql runs statements in the running transaction
 * @param most_bytes size that the database may have; undefined if nobody knows
 */
export function createDatabaseThrottle(sql: Sql, most_bytes: number | undefined): DatabaseThrottle {
	let [measured_at, bytes, refused, seen_at] = [Number.NEGATIVE_INFINITY, 0, 0, 0];
	let seen: Caused[] = [];
	const first = async <Row>(statement: string) => (await sql.rows<Row>(statement))[0];

	async function isLow(): Promise<boolean> {
		if (most_bytes === undefined) return false;
		if (performance.now() - measured_at >= FRESH_MS) {
			bytes = (await first<{ bytes: number }>(SIZE))?.bytes ?? most_bytes;
			measured_at = performance.now();
		}
		return bytes > most_bytes * (1 - LOW_SHARE);
	}

	return {
		async refuse({ event, count }) {
			if (event?.cause === undefined || !(await isLow())) return undefined;
			const now = (await first<{ now: number }>(NOW))?.now ?? 0;
			const rows = await sql.rows<Caused & { name: string }>(FIND, [causersOf(event.cause)]);
			const found = new Map(rows.map(({ name, ...caused }) => [name, caused]));
			const counted = countEvents(event.cause, count, now, (name) => found.get(name));
			if (counted === undefined) {
				refused++;
				return tooManyEvents("the database has more than 85 % of the size that it may have (database_bytes)");
			}
			await sql.run(FORGET, [now]);
			for (const [name, { times, scale }] of counted)
				await sql.run(KEEP, [name, times, scale, Math.max(...times) + COUNTED_MS]);
			[seen, seen_at] = [[...counted.values()], performance.now()];
			return undefined;
		},
		seen: () => ({ most: performance.now() - seen_at < COUNTED_MS ? mostIn(seen, latestIn(seen)) : 0, refused }),
	};
}

const latestIn = (seen: readonly Caused[]) => Math.max(...seen.flatMap(({ times }) => times));
