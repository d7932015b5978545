import type { Database } from "better-sqlite3";

const COUNTED = "SELECT engine, config_realm_id, state, count(*) AS count FROM main.lease GROUP BY 1, 2, 3";

const DIFFERENT = `SELECT 1 FROM (${COUNTED}) AS found FULL OUTER JOIN main.lease_count AS kept USING (engine, config_realm_id, state)
	WHERE coalesce(found.count, 0) <> coalesce(kept.count, 0) LIMIT 1`;

/** Tells whether the counts of leases are those of the rows. It reads every lease. */
export function areLeasesCounted(db: Database): boolean {
	return db.prepare(DIFFERENT).get() === undefined;
}

/** Counts all leases again. */
export function countLeases(db: Database): void {
	db.exec(
		`DELETE FROM main.lease_count; INSERT INTO main.lease_count (engine, config_realm_id, state, count) ${COUNTED}`,
	);
}
