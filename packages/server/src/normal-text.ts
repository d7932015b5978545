import * as v from "valibot";
import { AppError } from "./errors.ts";
import { errorMessage } from "./messages.ts";

/** Combining marks that a text may have in a row: Unicode's own limit for normalizing a stream (UAX 15). */
const MAX_MARKS = 30;

/** Matches too many marks in a row; NFKC makes marks of the two halfwidth characters, too. */
const LONG_RUN = new RegExp(`[\\p{M}\\uff9e\\uff9f]{${MAX_MARKS + 1}}`, "u");

/** UTF-16 units of an e-mail before it is normalized, which can turn one into 18. */
export const MAX_RAW_EMAIL = 1024;

/** Code points of an e-mail, counted after NFKC. Design: §7.2. */
export const MAX_EMAIL = 254;

export const EMAIL_TOO_LONG = `email must be at most ${MAX_EMAIL} characters`;

const tooMany = (field: string) => `${field} must not have more than ${MAX_MARKS} combining marks in a row`;

/** Tells whether a text can be normalized in linear time: NFKC sorts each run of combining marks in quadratic time. */
export function isNormalizable(text: string): boolean {
	return !LONG_RUN.test(text);
}

/** Checks a field before it is normalized. Design: §13 */
export const normalizable = (field: string) =>
	v.check(isNormalizable, errorMessage("validation_failed", tooMany(field)));

/**
 * Normalizes an e-mail to the form compared and stored everywhere: NFKC, trimmed, lower case.
 * @throws AppError validation_failed when it is too long to be one, or has too many combining marks in a row
 * Design: §6
 */
export function normalEmail(text: string): string {
	if (text.length > MAX_RAW_EMAIL) throw new AppError("validation_failed", EMAIL_TOO_LONG);
	if (!isNormalizable(text)) throw new AppError("validation_failed", tooMany("email"));
	return text.normalize("NFKC").trim().toLowerCase();
}
