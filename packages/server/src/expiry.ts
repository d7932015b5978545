import { DurationError, parseDuration } from "@svc/protocol";
import { AppError } from "./errors.ts";

/** Tells whether something has ended by an instant. @param expires_at its end; null when it has none. Both are ISO 8601 UTC. */
export function hasExpired(expires_at: string | null, by: string): boolean {
	return expires_at !== null && expires_at <= by;
}

/**
 * Reads the life of something, in milliseconds.
 * @param what beginning of the error's message
 * @throws AppError invalid_ttl
 */
export function parseTtl(ttl: unknown, { days = false, what = "invalid ttl" } = {}): number {
	try {
		return parseDuration(ttl, { days });
	} catch (error) {
		if (error instanceof DurationError) throw new AppError("invalid_ttl", `${what}: ${error.message}`);
		throw error;
	}
}
