/** The period in which a certificate is valid, to the second, like the certificate itself. */
export interface Validity {
	notBefore: Date;
	notAfter: Date;
}

const SECOND_MS = 1000;
const LAST_YEAR = 9999;

/**
 * Cuts both instants to whole seconds, so that the returned ones equal the signed ones.
 * @throws Error when an instant is invalid, the end is not at least a second after the beginning, or it is after the year 9999
 */
export function wholeSeconds(notBefore: Date, notAfter: Date): Validity {
	const validity = { notBefore: floorToSecond(notBefore), notAfter: floorToSecond(notAfter) };
	if (!(validity.notBefore < validity.notAfter)) {
		throw new Error("not_after must be later than not_before");
	}
	if (validity.notAfter.getUTCFullYear() > LAST_YEAR) {
		throw new Error("not_after must be before the year 10000");
	}
	return validity;
}

function floorToSecond(instant: Date): Date {
	return new Date(Math.floor(instant.getTime() / SECOND_MS) * SECOND_MS);
}

/** Formats an instant as RFC 3339 in UTC, to the second: `2026-01-31T00:00:00Z`. */
export function rfc3339(instant: Date): string {
	return `${instant.toISOString().slice(0, 19)}Z`;
}
