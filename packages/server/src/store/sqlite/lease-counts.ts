import type { Database } from "better-sqlite3";
import { asTexts, partialSums, type Summands } from "./partial-sums.ts";

const COLUMNS = ["engine", "config_realm_id", "state"];

const LEASES: Summands = {
	by: COLUMNS,
	rows: `SELECT rowid AS at, ${COLUMNS.join(", ")}, 1 AS amount FROM main.lease NOT INDEXED WHERE rowid >= @from`,
};

const KEPT = `SELECT ${asTexts(COLUMNS)}, coalesce(CAST(count AS INTEGER), 0) AS amount FROM main.lease_count`;

/** Tells whether the counts of leases are those of the rows. It reads every lease. */
export function areLeasesCounted(db: Database): boolean {
	const surplus = new Map<string, bigint>();
	const add = (group: Record<string, unknown>, amount: bigint) => {
		const name = JSON.stringify(COLUMNS.map((column) => group[column]));
		surplus.set(name, (surplus.get(name) ?? 0n) + amount);
	};
	for (const group of partialSums(db, LEASES)) add(group, group.amount);
	const kept = db.prepare(KEPT).safeIntegers().iterate() as ReturnType<typeof partialSums>;
	for (const group of kept) add(group, -group.amount);
	return surplus.values().every((amount) => amount === 0n);
}

/** Counts all leases again. */
export function countLeases(db: Database): void {
	db.exec("DELETE FROM main.lease_count");
	const add = db.prepare(
		`INSERT INTO main.lease_count (${COLUMNS.join(", ")}, count) VALUES (@engine, @config_realm_id, @state, @amount)
			ON CONFLICT DO UPDATE SET count = count + excluded.count`,
	);
	for (const group of partialSums(db, LEASES)) add.run(group);
}
