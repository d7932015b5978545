import * as v from "valibot";
import type { ErrorCode } from "./errors.ts";

const CODES = new Map<string, ErrorCode>();

/**
 * Registers a schema's message with its error code. Only messages made here reach a caller: valibot's own messages quote their input.
 * @returns the text, for a valibot action
 */
export function errorMessage(code: ErrorCode, text: string): string {
	CODES.set(text, code);
	return text;
}

/** Finds the code of a message made by `errorMessage`; undefined for any other text. */
export function codeOf(text: string): ErrorCode | undefined {
	return CODES.get(text);
}

/** A string of well-formed Unicode, as SQLite and JSON can keep it. */
export const Text = v.pipe(
	v.string(),
	v.check((text) => text.isWellFormed(), errorMessage("validation_failed", "text must not contain lone surrogates")),
);

/** Text of names and comments: without U+0000, which not every store and terminal accepts. Values and passwords may contain it. */
export const PlainText = v.pipe(
	Text,
	v.check(
		(text) => !text.includes("\0"),
		errorMessage("validation_failed", "text must not contain the character U+0000"),
	),
);

/** Plain text that is not empty. */
export const RequiredPlainText = v.pipe(
	PlainText,
	v.nonEmpty(errorMessage("missing_field", "a required field is empty")),
);

/** A required string: `""` counts as missing. */
export const RequiredText = v.pipe(Text, v.nonEmpty(errorMessage("missing_field", "a required field is empty")));

/** A string of at most `bytes` bytes of UTF-8. */
export const atMost = (bytes: number, field: string) =>
	v.maxBytes<string, number, string>(
		bytes,
		errorMessage("validation_failed", `${field} must be at most ${bytes} bytes`),
	);

/** The closed list of environments. Spec: API › Resources. */
export const ENVIRONMENTS = ["dev", "staging", "prod", "test"] as const;

export type Environment = (typeof ENVIRONMENTS)[number];

export const Environment = v.picklist(
	ENVIRONMENTS,
	errorMessage("invalid_environment", "environment must be dev, staging, prod or test"),
);

/** Query of settings that are tried first, and kept only when they work. Design: §15 */
export const IfHealthy = v.object({
	if: v.optional(v.picklist(["healthy"], errorMessage("validation_failed", "if must be healthy"))),
});

/** Query that asks for what was deleted and can be restored. Design: §15 */
export const Deleted = v.optional(
	v.picklist(["true", "false"], errorMessage("validation_failed", "deleted must be true or false")),
	"false",
);

/** In answers: a whole number from 0. */
export const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** In answers: an instant, ISO 8601 UTC. */
export const Instant = v.pipe(v.string(), v.isoTimestamp());

/** In answers: an id that this server generated. */
export const Uuid = v.pipe(v.string(), v.uuid());

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/** An RFC 3339 instant with an offset or Z, kept as ISO 8601 UTC; a day that no calendar has is refused. Design: §7.2. */
export const instantOf = (field: string) =>
	v.pipe(
		v.string(),
		v.metadata({ type: "string", format: "date-time" }),
		v.check(
			isInstant,
			errorMessage("validation_failed", `${field} must be an RFC 3339 instant such as 2030-01-31T00:00:00Z`),
		),
		v.transform((text) => new Date(text.toUpperCase()).toISOString()),
	);

function isInstant(text: string): boolean {
	const match = RFC3339.exec(text);
	if (match === null) return false;
	const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number];
	const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
	return month >= 1 && month <= 12 && day >= 1 && day <= lastDay && !Number.isNaN(Date.parse(text.toUpperCase()));
}
