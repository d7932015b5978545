/** One assertion of a relative name: the attribute's type in lower case, and the value without escapes. */
interface NamePart {
	type: string;
	value: string;
}

/** A distinguished name, the entry's own relative name first. */
export type DistinguishedName = NamePart[][];

const TYPE = / *([a-z][a-z0-9-]*|\d+(?:\.\d+)+) *= */iuy;
/** The characters of a value: an escape, or anything that needs none. */
const VALUE = /(?!#)(?:[^\\",+;<>\0]|\\[ "#+,;<=>\\]|\\[0-9a-f]{2})+/iuy;
const CHARACTER = /\\[0-9a-f]{2}|\\.|[^\\]/giu;

/**
 * Reads a distinguished name, except the forms that RFC 4514 keeps for old programs (quotes, semicolons) and values in BER (`#04…`).
 * https://www.rfc-editor.org/rfc/rfc4514
 * @returns undefined when the text is no such name
 */
export function parseDn(text: string): DistinguishedName | undefined {
	const name: DistinguishedName = [[]];
	let position = 0;
	const take = (pattern: RegExp): string | undefined => {
		pattern.lastIndex = position;
		const match = pattern.exec(text);
		if (match === null) return undefined;
		position = pattern.lastIndex;
		return match[1] ?? match[0];
	};
	for (;;) {
		const type = take(TYPE)?.toLowerCase();
		const value = withoutEscapes(take(VALUE) ?? "");
		if (type === undefined || value === undefined) return undefined;
		name.at(-1)?.push({ type, value });
		const separator = text.charAt(position++);
		if (separator === "") return name;
		if (separator === ",") name.push([]);
		else if (separator !== "+") return undefined;
	}
}

/** @returns undefined when nothing is left, or when the bytes are no text */
function withoutEscapes(written: string): string | undefined {
	const characters = written.match(CHARACTER) ?? [];
	while (characters.at(-1) === " ") characters.pop();
	const bytes = characters.map((character) => {
		if (character.length === 3 && character.startsWith("\\")) return Buffer.from(character.slice(1), "hex");
		return Buffer.from(character.startsWith("\\") ? character.slice(1) : character);
	});
	const value = textOf(Buffer.concat(bytes));
	return value === "" ? undefined : value;
}

/** @returns undefined when the bytes are no UTF-8, or contain NUL */
export function textOf(bytes: Buffer): string | undefined {
	try {
		const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
		return text.includes("\0") ? undefined : text;
	} catch {
		return undefined;
	}
}

/** Writes a distinguished name with every escape that RFC 4514 requires, and more. */
export function writeDn(name: DistinguishedName): string {
	const part = ({ type, value }: NamePart) => `${type}=${withEscapes(value)}`;
	return name.map((parts) => parts.map(part).join("+")).join(",");
}

function withEscapes(value: string): string {
	const special = /[",+;<=>\\\p{Cc}]|^[ #]| $/gu;
	const bytes = (character: string) => Buffer.from(character).toString("hex").replace(/../g, "\\$&");
	return value.replace(special, (character) => (/\p{Cc}/u.test(character) ? bytes(character) : `\\${character}`));
}

/** Returns the same text for every spelling of a name: lower case, single blanks, none around separators. */
export function normalDn(name: DistinguishedName): string {
	return name.map(normalRdn).join(",");
}

function normalRdn(parts: NamePart[]): string {
	const normal = parts.map(({ type, value }) => ({ type, value: value.toLowerCase().trim().replace(/ +/g, " ") }));
	const written = normal.map((part) => writeDn([[part]]));
	return written.toSorted((one, other) => (one < other ? -1 : 1)).join("+");
}

/** Tells whether an entry of this name is somewhere below the other. */
export function isBelow(name: DistinguishedName, base: DistinguishedName): boolean {
	return name.length > base.length && normalDn(name.slice(-base.length)) === normalDn(base);
}
