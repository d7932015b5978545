import type { Database } from "better-sqlite3";
import { AppError, FatalError } from "../../errors.ts";
import { storageFailed } from "../errors.ts";
import { codeOf, isFatal, STORAGE_EXIT_CODE } from "./failure.ts";

type Question = (...args: never[]) => unknown;

/** Reads of one connection. */
export interface ReadTransaction {
	/** Returns the same question, asked within the turn's transaction. */
	within<Asked extends Question>(question: Asked): Asked;
	/** Ends the transaction, if there is one. @throws AppError unhealthy when the database cannot be read, which it reports */
	end(): void;
	/** Passes on the error of a read, and reports it first when the database cannot be read. */
	fail(cause: unknown): never;
}

/**
 * Lets all reads of one turn of the event loop share one read transaction: taking and dropping SQLite's read lock costs as much as
 * finding a row. It ends with the turn, and a read after a commit begins another, so reads see every answered write.
 * @param commits counts the commits that callers may know of
 * @param onFailure called when the database cannot be read: an I/O error or corruption is never waited out. Design: §4
 */
export function createReadTransaction(
	db: Database,
	commits: () => number,
	onFailure: (error: FatalError) => void,
): ReadTransaction {
	const begin = db.prepare("BEGIN");
	const commit = db.prepare("COMMIT");
	let ending: NodeJS.Immediate | undefined;
	let seen = 0;

	const end = () => {
		if (ending === undefined) return;
		clearImmediate(ending);
		ending = undefined;
		try {
			commit.run();
		} catch (cause) {
			fail(cause);
		}
	};
	const endOfTurn = () => {
		try {
			end();
		} catch (error) {
			// The failure was reported, and nobody waits here for an answer: SQLite reports corruption to a read, and to the end of its transaction again.
			if (!(error instanceof AppError)) throw error;
		}
	};

	function ask(question: Question, args: never[]): unknown {
		try {
			if (seen !== commits()) end();
			if (ending === undefined) {
				begin.run();
				seen = commits();
				ending = setImmediate(endOfTurn);
			}
			return question(...args);
		} catch (cause) {
			return fail(cause);
		}
	}

	function fail(cause: unknown): never {
		const code = codeOf(cause);
		if (!isFatal(code)) throw cause;
		onFailure(
			new FatalError(
				`the storage failed, stopping: the database reported ${code}; check the disk, then start again`,
				STORAGE_EXIT_CODE,
				{ cause },
			),
		);
		throw storageFailed();
	}

	return {
		within: (question) => ((...args: never[]) => ask(question, args)) as typeof question,
		end,
		fail,
	};
}
