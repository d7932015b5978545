import type { Database } from "better-sqlite3";

/** Rows that are grouped in one step. SQLite sorts them in memory: a million leases at a time took 100 MB. */
export const STEP_ROWS = 20_000;

/** First and last number of a row. */
const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Rows to be summed up, by the values of some columns. */
export interface Summands {
	/** Columns of the groups. */
	by: readonly string[];
	/** Statement that has these columns, the `amount` of each row and its number, `at`, of which it takes those from `@from` on. */
	rows: string;
}

/** The sum of a group's rows in one step. Its columns are those of the group. */
export interface PartialSum {
	amount: bigint;
	[column: string]: unknown;
}

/** Selects columns as text, also where another program wrote a value of a type that they never have. */
export const asTexts = (columns: readonly string[]) =>
	columns.map((name) => `CAST(${name} AS TEXT) AS ${name}`).join(", ");

/** Sums up many rows by groups, some rows at a time. A group has a sum in each step that finds rows of it. */
export function* partialSums(db: Database, { by, rows }: Summands): Generator<PartialSum> {
	const step = db
		.prepare(
			`SELECT ${asTexts(by)}, coalesce(sum(amount), 0) AS amount, count(*) AS count, max(at) AS last
				FROM (${rows} ORDER BY at LIMIT ${STEP_ROWS}) GROUP BY ${by.join(", ")}`,
		)
		.safeIntegers();
	for (let from = FIRST, count = STEP_ROWS; count === STEP_ROWS && from <= LAST; ) {
		count = 0;
		for (const group of step.all({ from }) as (PartialSum & { count: bigint; last: bigint })[]) {
			count += Number(group.count);
			if (group.last >= from) from = group.last + 1n;
			yield group;
		}
	}
}
