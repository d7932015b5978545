import ldap from "ldapjs";
import { textOf } from "./dn.ts";

/** A text that is no search filter, or that has the placeholder in the wrong position. */
export class FilterError extends Error {
	override readonly name = "FilterError";
}

/** Any of ldapjs's filters. */
export type Filter = ldap.PresenceFilter;

/** The value that replaces a placeholder; when it is undefined, anything matches. */
export interface Filling {
	/** For example `{username}`. */
	placeholder: string;
	value: string | undefined;
}

const ITEM = /([a-z0-9][\w.;-]*)?(:dn)?(?::([a-z0-9][\w.-]*))?(:=|[~<>]?=)([^()\0]*)/iuy;

/**
 * Reads a filter that contains a placeholder. (ldapjs's own reader leaves escapes as they are.) The placeholder is replaced after parsing, and its
 * value is never parsed: no value can change the filter's shape. It may appear in the values of `=` only, alone or with text around it:
 * `(uid={username})`, `(mail={username}@example.com)`.
 * https://www.rfc-editor.org/rfc/rfc4515
 * @throws FilterError
 */
export function readFilter(text: string, filling: Filling): Filter {
	if (!text.includes(filling.placeholder)) throw new FilterError("no placeholder");
	const source = { text: text.trim(), position: 0 };
	const filter = readOne(source, filling);
	if (source.position < source.text.length) throw new FilterError("something follows");
	return filter ?? new ldap.PresenceFilter({ attribute: "objectClass" });
}

interface Source {
	readonly text: string;
	position: number;
}

/** @returns undefined for a filter that always matches */
function readOne(source: Source, filling: Filling): Filter | undefined {
	expect(source, "(");
	const sign = source.text.charAt(source.position);
	const filter = /[&|!]/.test(sign) ? readGroup(source, sign, filling) : readItem(source, filling);
	expect(source, ")");
	return filter;
}

function expect(source: Source, character: string): void {
	while (source.text.charAt(source.position) === " ") source.position++;
	if (source.text.charAt(source.position++) !== character) throw new FilterError(`${character} is missing`);
}

function readGroup(source: Source, sign: string, filling: Filling): Filter | undefined {
	source.position++;
	const parts: (Filter | undefined)[] = [];
	while (/^ *\(/.test(source.text.slice(source.position))) parts.push(readOne(source, filling));
	const filters = parts.filter((part) => part !== undefined);
	if (parts.length === 0 || (sign === "!" && (parts.length > 1 || filters.length === 0))) {
		throw new FilterError("a group holds too few, too many, or the placeholder under a not");
	}
	if (sign === "!") return new ldap.NotFilter({ filter: filters[0] as Filter });
	if (sign === "&") return filters.length === 0 ? undefined : new ldap.AndFilter({ filters });
	return filters.length < parts.length ? undefined : new ldap.OrFilter({ filters });
}

function readItem(source: Source, filling: Filling): Filter | undefined {
	ITEM.lastIndex = source.position;
	const match = ITEM.exec(source.text);
	if (match === null) throw new FilterError("neither a group nor attribute=value");
	source.position = ITEM.lastIndex;
	const [whole, attribute, dn, rule, sign = "", value = ""] = match;
	if (sign === ":=") return readExtensible({ attribute, dn, rule, value, filling });
	if (attribute === undefined || dn !== undefined || rule !== undefined) throw new FilterError("no attribute");
	if (sign === "=" && !value.includes("*")) return readEquality(attribute, value, filling);
	if (whole.includes(filling.placeholder)) throw new FilterError("a placeholder elsewhere than in =");
	if (value === "") throw new FilterError("an empty value");
	const plain = withoutEscapes(value);
	if (sign === "~=") return new ldap.ApproximateFilter({ attribute, value: plain });
	if (sign === ">=") return new ldap.GreaterThanEqualsFilter({ attribute, value: plain });
	if (sign === "<=") return new ldap.LessThanEqualsFilter({ attribute, value: plain });
	if (value === "*") return new ldap.PresenceFilter({ attribute });
	const [initial = "", ...any] = value.split("*").map(withoutEscapes);
	const final = any.pop() ?? "";
	return new ldap.SubstringFilter({ attribute, initial, any: any.filter((part) => part !== ""), final });
}

function readEquality(attribute: string, written: string, { placeholder, value }: Filling): Filter | undefined {
	const texts = written.split(placeholder);
	if (texts.length > 1 && value === undefined) return undefined;
	const whole = texts.map(withoutEscapes).join(value);
	if (whole === "") throw new FilterError("an empty value");
	return new ldap.EqualityFilter({ attribute, value: whole });
}

interface Extensible {
	attribute: string | undefined;
	dn: string | undefined;
	rule: string | undefined;
	value: string;
	filling: Filling;
}

function readExtensible({ attribute, dn, rule, value, filling }: Extensible): Filter {
	if (value.includes(filling.placeholder)) throw new FilterError("a placeholder elsewhere than in =");
	if (attribute === undefined && rule === undefined) throw new FilterError("neither attribute nor rule");
	return new ldap.ExtensibleFilter({
		...(attribute === undefined ? {} : { matchType: attribute }),
		...(rule === undefined ? {} : { rule }),
		dnAttributes: dn !== undefined,
		value: withoutEscapes(value),
	});
}

/** @throws FilterError when a backslash is not followed by two digits, or the bytes are no text */
function withoutEscapes(written: string): string {
	const parts: string[] = written.match(/\\[0-9a-f]{2}|[^\\]+|\\/giu) ?? [];
	if (parts.includes("\\")) throw new FilterError("a backslash without two hexadecimal digits");
	const bytes = parts.map((part) => (part.startsWith("\\") ? Buffer.from(part.slice(1), "hex") : Buffer.from(part)));
	const text = textOf(Buffer.concat(bytes));
	if (text === undefined) throw new FilterError("no text");
	return text;
}
