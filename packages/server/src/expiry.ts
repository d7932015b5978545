import { DurationError } from "@svc/protocol";
import { AppError } from "./errors.ts";

/** Tells whether something has ended by an instant. @param expires_at its end; null when it has none. Texts are ISO 8601 UTC. */
export function hasExpired(expires_at: string | null, by: string | Date): boolean {
	// Most things have no end, and it takes a while to write a time.
	return expires_at !== null && expires_at <= (typeof by === "string" ? by : by.toISOString());
}

/** Makes the error of a duration that cannot be read; any other exception stays as it is. @param what beginning of the message */
export function invalidTtl(thrown: unknown, what = "invalid ttl"): unknown {
	return thrown instanceof DurationError ? new AppError("invalid_ttl", `${what}: ${thrown.message}`) : thrown;
}
