import { randomBytes } from "node:crypto";
import { DurationError, parseDuration } from "@svc/protocol";
import { EngineError } from "./engine.ts";

/** Bytes of a managed name's random part, and of a password. Spec: ENGINES › Limits. */
const NAME_BYTES = 4;
const PASSWORD_BYTES = 12;

/** A new name: the prefix and 8 lowercase hex characters. */
export function managedName(prefix: string): string {
	return prefix + randomBytes(NAME_BYTES).toString("hex");
}

/** A new password: 24 hex characters, 96 random bits. */
export function newPassword(): string {
	return randomBytes(PASSWORD_BYTES).toString("hex");
}

/**
 * Reads a ttl.
 * @returns milliseconds
 * @throws EngineError `invalid ttl: …`
 */
export function parseTtl(text: string, options: { days?: boolean } = {}): number {
	try {
		return parseDuration(text, options);
	} catch (error) {
		if (error instanceof DurationError) throw new EngineError(`invalid ttl: ${error.message}`);
		throw error;
	}
}

/** An instant as RFC 3339 in UTC with whole seconds, as every engine writes it. */
export function rfc3339(instant: Date): string {
	return `${instant.toISOString().slice(0, 19)}Z`;
}

/** The end of a lease that begins now, RFC 3339 UTC, whole seconds rounded down. @param ttl_ms milliseconds */
export function expiresIn(ttl_ms: number): string {
	return rfc3339(new Date(Date.now() + ttl_ms));
}
