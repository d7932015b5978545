import { DurationError } from "@svc/protocol";
import { AppError } from "./errors.ts";

/** Tells whether something has ended by an instant. @param expires_at its end; null when it has none. Both are ISO 8601 UTC. */
export function hasExpired(expires_at: string | null, by: string): boolean {
	return expires_at !== null && expires_at <= by;
}

/** Makes the error of a duration that cannot be read; any other exception stays as it is. @param what beginning of the message */
export function invalidTtl(thrown: unknown, what = "invalid ttl"): unknown {
	return thrown instanceof DurationError ? new AppError("invalid_ttl", `${what}: ${thrown.message}`) : thrown;
}
