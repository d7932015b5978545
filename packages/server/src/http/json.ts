import { JsonError, parseJson as parseStrictly } from "@svc/protocol";
import { AppError } from "../errors.ts";

/**
 * Parses a request's body: valid UTF-8, no repeated member names, bounded depth and width.
 * @throws AppError invalid_json; the message never quotes the text
 */
export function parseJson(bytes: Uint8Array): unknown {
	try {
		return parseStrictly(bytes);
	} catch (error) {
		if (error instanceof JsonError) throw new AppError("invalid_json", `the body ${error.message}`);
		throw error;
	}
}
