import type { Database } from "better-sqlite3";
import type { Unfinished } from "../../errors.ts";

/** A question took longer than it may. */
export class TookTooLong extends Error {
	override readonly name = "TookTooLong";
	/** Number of the row that was looked at next. */
	readonly at: number;
	/** Rows found by then and the position of the rest, if the list can go on from there. */
	readonly found: Unfinished["found"] | undefined;

	constructor(at: number, found?: Unfinished["found"]) {
		super("the question took too long");
		this.at = at;
		this.found = found;
	}
}

/** Condition of a statement that may read many rows: it ends the statement when the question's time is over. It looks at one row in 1,024, which costs nothing. */
export const IN_TIME = "(rowid & 1023 OR in_time(rowid))";

/**
 * Limits the time of a connection's questions: SQLite cannot be interrupted from outside, but calls a function of ours.
 * @returns the function that begins the time of the next question
 */
export function limitTime(db: Database): (limit_ms: number) => void {
	let end = Number.POSITIVE_INFINITY;
	db.function("in_time", { directOnly: true }, (rowid) => {
		if (performance.now() > end) throw new TookTooLong(Number(rowid));
		return 1;
	});
	return (limit_ms) => {
		end = performance.now() + limit_ms;
	};
}

/**
 * Reads some rows of the log below a number together, because a statement cannot be walked through twice at the same time.
 * @throws TookTooLong at the first number of these rows: none of them was looked at
 */
export function allInTime<Row>(read: (below: number) => Row[], below: number): Row[] {
	try {
		return read(below);
	} catch (error) {
		throw error instanceof TookTooLong ? new TookTooLong(below - 1) : error;
	}
}

/**
 * Collects the rows of a statement that walks through a table in order.
 * @param restAt names the position from which the list goes on, when the time is over at a row; undefined when nothing was looked at
 * @throws TookTooLong with the rows found by then
 */
export function collectInTime<Row, Made>(
	rows: Iterable<Row>,
	make: (row: Row) => Made,
	restAt: (at: number) => string | undefined,
): Made[] {
	const found: Made[] = [];
	try {
		for (const row of rows) found.push(make(row));
	} catch (error) {
		const rest = error instanceof TookTooLong ? restAt(error.at) : undefined;
		throw error instanceof TookTooLong && rest !== undefined ? new TookTooLong(error.at, { rows: found, rest }) : error;
	}
	return found;
}
