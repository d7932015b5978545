import { type Cursor, type Dialect, DotenvError, take } from "../cursor.ts";

const ESCAPE = /\\(?:([abcfnrtv$"\\])|0(\d{0,3}))/g;
const ESCAPED: Readonly<Record<string, string>> = {
	...{ a: "\u0007", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" },
	...{ "\\": "\\", '"': '"', c: "\\c" },
	// The one of two that stands for itself.
	$: "$$",
};

const VARIABLE = /\$(?:(\$)|[_a-z{])/gi;
const REST = /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y;

/** Files for `env_file` and `.env` of docker compose, as compose-go reads them. */
export const compose: Dialect = {
	between: /\s*?(?:#[^\n]*)?(?:\n|$)/y,
	key: /[^\S\n]*(?:export[^\S\n]+)?([\p{L}\p{N}_.[\]-]+)(?=[^\S\n]*(?:[=:]|\n|$))/uy,
	value(cursor) {
		const { line } = cursor;
		if (!take(cursor, /[^\S\n]*[=:][^\S\n]*/y))
			throw new DotenvError(line, "has no value: compose takes it from its own environment");
		const quote = take(cursor, /['"]/y)?.[0];
		return quote === undefined ? readBare(cursor) : readQuoted(cursor, quote);
	},
};

function readBare(cursor: Cursor): string {
	const { line } = cursor;
	const [text = ""] = (take(cursor, /([^\n]*)(?:\n|$)/y)?.[1] ?? "").split(" #", 1);
	return withoutVariables(text.trimEnd(), line);
}

function readQuoted(cursor: Cursor, quote: string): string {
	const { line } = cursor;
	const inner = take(
		cursor,
		quote === "'" ? /([^'\\]*(?:\\[\s\S][^'\\]*)*)'/y : /([^"\\]*(?:\\[\s\S][^"\\]*)*)"/y,
	)?.[1];
	if (inner === undefined) throw new DotenvError(line, "the quote that begins here is never closed");
	const last = cursor.line;
	if (!take(cursor, REST)) throw new DotenvError(last, "only a comment may follow the closing quote");
	if (quote === "'") return inner.replaceAll("\\'", "'");
	return withoutVariables(inner.replaceAll('\\"', '"').replace(ESCAPE, escaped), line);
}

function escaped(_: string, letter: string | undefined, octal = ""): string {
	if (letter !== undefined) return ESCAPED[letter] ?? "";
	const code = /^[0-3][0-7]{2}$/.test(octal) ? Number.parseInt(octal, 8) : undefined;
	return code === undefined ? `\\${octal}` : String.fromCharCode(code);
}

function withoutVariables(text: string, line: number): string {
	return text.replace(VARIABLE, (_, dollar: string | undefined) => {
		if (dollar !== undefined) return dollar;
		throw new DotenvError(line, "compose puts the value of a variable here: write $$ for a $, or what it should be");
	});
}
