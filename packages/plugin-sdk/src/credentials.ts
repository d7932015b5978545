import { randomBytes } from "node:crypto";
import { DurationError, parseDuration } from "@svc/protocol";
import { EngineError } from "./engine.ts";

/** Bytes of a managed name's random part, and of a password. Spec: ENGINES › Limits. */
const NAME_BYTES = 4;
const PASSWORD_BYTES = 12;

/** Random bytes fetched at once: the system takes as long for a few as for a kilobyte. */
const POOL_BYTES = 1024;

let pool = Buffer.alloc(0);

/** Returns random bytes as lowercase hex. Each is used once, and wiped. */
function randomHex(size: number): string {
	if (pool.length < size) pool = randomBytes(POOL_BYTES);
	const given = pool.subarray(0, size);
	pool = pool.subarray(size);
	const text = given.toString("hex");
	given.fill(0);
	return text;
}

/** Makes a name: the prefix and 8 lowercase hex characters. */
export function managedName(prefix: string): string {
	return prefix + randomHex(NAME_BYTES);
}

/** Makes a password: 24 hex characters, 96 random bits. */
export function newPassword(): string {
	return randomHex(PASSWORD_BYTES);
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

/** Formats an instant as every engine does: RFC 3339 in UTC with whole seconds. */
export function rfc3339(instant: Date): string {
	return `${instant.toISOString().slice(0, 19)}Z`;
}

/** The end of a lease that begins now: RFC 3339 UTC, whole seconds rounded down. @param ttl_ms milliseconds */
export function expiresIn(ttl_ms: number): string {
	return rfc3339(new Date(Date.now() + ttl_ms));
}
