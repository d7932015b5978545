import type { Claims } from "./jwt.ts";

/** A value that a trust names: compared by type and value. */
type ClaimValue = string | boolean | number;

/** Claims that a trust names, by place. */
export type NamedClaims = Readonly<Record<string, ClaimValue>>;

/** Characters after a tilde in a JSON pointer. Spec: RFC 6901 §3 */
const BAD_ESCAPE = /~(?![01])/;

/** Tells whether a text names a place: a claim's name, or a JSON pointer. */
export function isPlace(text: string): boolean {
	return text !== "" && (!text.startsWith("/") || !BAD_ESCAPE.test(text));
}

/**
 * Finds the value at a place: the claim of that name, dots and all, or, if it begins with a slash, where a JSON pointer leads. Every step is an
 * own member of an object; a list is never entered.
 * Design: §15
 */
export function valueAt(claims: Claims, place: string): unknown {
	if (!place.startsWith("/")) return Object.hasOwn(claims, place) ? claims[place] : undefined;
	let value: unknown = claims;
	for (const step of place.slice(1).split("/")) {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
		const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
		if (!Object.hasOwn(value, name)) return undefined;
		value = (value as Claims)[name];
	}
	return value;
}

/** Finds the first place whose value differs from the named one; undefined if all are equal. Nothing is converted, and no number is rounded. */
export function differingPlace(claims: Claims, named: NamedClaims): string | undefined {
	return Object.entries(named).find(([place, wanted]) => !isSame(valueAt(claims, place), wanted))?.[0];
}

function isSame(value: unknown, wanted: ClaimValue): boolean {
	if (typeof value === "number" && !Number.isSafeInteger(value)) return false;
	return value === wanted;
}
