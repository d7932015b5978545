import { AppError } from "../errors.ts";
import { MAX_QUESTION_S } from "../limits.ts";

/** Creates the error for a row that the question needs and that was altered. */
export function rowAltered(): AppError {
	return new AppError(
		"row_altered",
		"another program altered what you asked for, so it is not shown: the server's log says more",
	);
}

/** Creates the error for a question that took too long. */
export function tookTooLong(): AppError {
	const message = `the answer takes longer than ${MAX_QUESTION_S} s to find (question_seconds): ask for less, such as one realm or a shorter time`;
	return new AppError("overloaded", message, { headers: { "retry-after": "30" } });
}

/** Creates the error for a question or change that comes while the server stops. */
export function closing(): AppError {
	return new AppError("unhealthy", "the server is stopping: nothing was changed; try again in a moment");
}

/** Creates the error for everything after the storage failed. */
export function storageFailed(): AppError {
	return new AppError(
		"unhealthy",
		"the server's storage failed and the server is stopping: the change may or may not have been made",
	);
}

/** Creates the error for the time while the database cannot be reached or written. */
export function storeUnavailable(cause?: unknown): AppError {
	return unavailable(
		"the database cannot be reached or written now, nothing was changed: try again in a moment",
		cause,
	);
}

/** Creates the error for a connection that was lost while a change was committed, and the database did not come back in time to tell. */
export function outcomeUnknown(cause: unknown): AppError {
	return unavailable("the connection to the database was lost: the change may or may not have been made", cause);
}

/** Seconds after which a caller may try again. */
const RETRY_S = "1";

function unavailable(message: string, cause: unknown): AppError {
	return new AppError("store_unavailable", message, { cause, headers: { "Retry-After": RETRY_S } });
}
