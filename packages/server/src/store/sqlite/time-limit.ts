import type { Database } from "better-sqlite3";

/** A question took longer than it may. */
export class TookTooLong extends Error {
	override readonly name = "TookTooLong";
}

/** Condition of a statement that may read many rows: it ends the statement when the question's time is over. It looks at one row in 1,024, which costs nothing. */
export const IN_TIME = "(rowid & 1023 OR in_time())";

/**
 * Limits the time of a connection's questions: SQLite cannot be interrupted from outside, but calls a function of ours.
 * @returns the function that begins the time of the next question
 */
export function limitTime(db: Database): (limit_ms: number) => void {
	let end = Number.POSITIVE_INFINITY;
	db.function("in_time", { directOnly: true }, () => {
		if (performance.now() > end) throw new TookTooLong("the question took too long");
		return 1;
	});
	return (limit_ms) => {
		end = performance.now() + limit_ms;
	};
}
