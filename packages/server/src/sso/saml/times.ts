import { SsoRefusal } from "../model.ts";

/** The largest difference in milliseconds between the provider's clock and ours. Design: §11 */
const SKEW_MS = 120_000;

/** The end of the four-digit years, so that instants can be compared as text. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** SAML has no other time zone. */
const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,12})?Z$/;

/** Returns milliseconds since 1970. @throws SsoRefusal malformed when the instant is missing or does not exist */
export function parseInstant(text: string | undefined): number {
	const seconds = INSTANT.exec(text ?? "")?.[1];
	const parsed = Date.parse(`${text}`);
	// Date takes the 31st of February for the 3rd of March.
	if (seconds === undefined || Number.isNaN(parsed) || !new Date(parsed).toISOString().startsWith(seconds)) {
		throw new SsoRefusal("malformed");
	}
	return parsed;
}

/** Refuses an instant that is still to come. @throws SsoRefusal expired, malformed */
export function checkNotBefore(instant: string | undefined, now_ms: number): void {
	if (now_ms + SKEW_MS < parseInstant(instant)) throw new SsoRefusal("expired");
}

/** Refuses an instant that has passed. @throws SsoRefusal expired, malformed */
export function checkNotOnOrAfter(instant: string | undefined, now_ms: number): void {
	if (now_ms - SKEW_MS >= parseInstant(instant)) throw new SsoRefusal("expired");
}

/** Returns the time from which an assertion that ends at this instant is refused: ISO 8601 UTC. @throws SsoRefusal malformed */
export function refusedFrom(not_on_or_after: string | undefined): string {
	return new Date(Math.min(parseInstant(not_on_or_after) + SKEW_MS, LAST_MS)).toISOString();
}
