import type { Claims } from "./jwt.ts";

/** A value that a trust names: compared by type and value. */
type ClaimValue = string | boolean | number;

/** Claims that a trust names, by path. */
export type NamedClaims = Readonly<Record<string, ClaimValue>>;

/** Characters after a tilde in a JSON pointer. Spec: RFC 6901 §3 */
const BAD_ESCAPE = /~(?![01])/;

/** Tells whether a text is the path of a claim: its name, or a JSON pointer. */
export function isClaimPath(text: string): boolean {
	return text !== "" && (!text.startsWith("/") || !BAD_ESCAPE.test(text));
}

/**
 * Finds the value at a path: the claim of that name, dots and all, or, if it begins with a slash, where a JSON pointer leads. Every step is an
 * own member of an object; a list is never entered.
 * Design: §15
 */
export function valueAt(claims: Claims, path: string): unknown {
	if (!path.startsWith("/")) return Object.hasOwn(claims, path) ? claims[path] : undefined;
	let value: unknown = claims;
	for (const step of path.slice(1).split("/")) {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
		const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
		if (!Object.hasOwn(value, name)) return undefined;
		value = (value as Claims)[name];
	}
	return value;
}

/** Finds the first path whose value differs from the named one; undefined if all are equal. Nothing is converted, and no number is rounded. */
export function differingPath(claims: Claims, named: NamedClaims): string | undefined {
	return Object.entries(named).find(([path, wanted]) => !isSame(valueAt(claims, path), wanted))?.[0];
}

function isSame(value: unknown, wanted: ClaimValue): boolean {
	if (typeof value === "number" && !Number.isSafeInteger(value)) return false;
	return value === wanted;
}
