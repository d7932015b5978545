import { parseJsonInSteps as inSteps, JsonError, parseJson as parseStrictly } from "@svc/protocol";
import { AppError } from "../errors.ts";

/**
 * Parses a request's body: valid UTF-8, no repeated member names, bounded depth and width.
 * @throws AppError invalid_json; the message never quotes the text
 */
export function parseJson(bytes: Uint8Array): unknown {
	try {
		return parseStrictly(bytes);
	} catch (error) {
		throw asAppError(error);
	}
}

/** Parses in steps of a few milliseconds, and returns the body's value. @throws AppError invalid_json */
export function* parseJsonInSteps(bytes: Uint8Array): Generator<void, unknown> {
	try {
		return yield* inSteps(bytes);
	} catch (error) {
		throw asAppError(error);
	}
}

function asAppError(error: unknown): unknown {
	return error instanceof JsonError ? new AppError("invalid_json", `the body ${error.message}`) : error;
}
