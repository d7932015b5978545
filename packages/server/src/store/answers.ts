import { AppError } from "../errors.ts";
import { MAX_QUESTION_S } from "../limits.ts";

/** Answer when a row that the question needs was altered. */
export function rowAltered(): AppError {
	return new AppError(
		"row_altered",
		"another program altered what you asked for, so it is not shown: the server's log says more",
	);
}

/** Answer to a question that took too long. */
export function tookTooLong(): AppError {
	const message = `the answer takes longer than ${MAX_QUESTION_S} s to find (question_seconds): ask for less, such as one realm or a shorter time`;
	return new AppError("overloaded", message, { headers: { "retry-after": "30" } });
}

/** Answer while the server stops. */
export function closing(): AppError {
	return new AppError("unhealthy", "the server is stopping: nothing was changed; try again in a moment");
}

/** Answer once the storage failed. */
export function storageUnavailable(): AppError {
	return new AppError(
		"unhealthy",
		"the server's storage failed and the server is stopping: the change may or may not have been made",
	);
}
