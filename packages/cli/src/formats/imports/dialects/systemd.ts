import { type Cursor, type Dialect, DotenvError, take } from "../cursor.ts";

/**
 * Files for `EnvironmentFile=`. man systemd.exec: a backslash before a line break continues the line, in double quotes one keeps a following
 * " \ ` $, elsewhere it vanishes; there are no comments after a value.
 */
export const systemd: Dialect = {
	between: /[ \t\r]*(?:[#;](?:\\\n|[^\n])*)?(?:\n|$)/y,
	key: /[ \t\r]*([A-Za-z_]\w*)[ \t]*=/y,
	value(cursor) {
		let value = "";
		for (;;) {
			take(cursor, /[ \t]+/y);
			const quote = take(cursor, /['"]/y)?.[0];
			if (quote !== undefined) value += readQuoted(cursor, quote);
			else return value + readBare(cursor);
		}
	},
};

/** Up to the end of the line: behind unquoted text, a quote is an ordinary character. */
function readBare(cursor: Cursor): string {
	const text = take(cursor, /([^\n\r\\]*(?:\\(?:[\s\S]|$)[^\n\r\\]*)*)(?:[\n\r]|$)/y)?.[1] ?? "";
	let value = "";
	// Blanks at the end are dropped, unless a backslash protects them.
	let end = 0;
	for (let at = 0; at < text.length; at++) {
		const isEscape = text[at] === "\\";
		if (isEscape) at++;
		const character = text[at] ?? "";
		if (isEscape && character === "\n") continue;
		value += character;
		if (isEscape || !/[ \t]/.test(character)) end = value.length;
	}
	return value.slice(0, end);
}

function readQuoted(cursor: Cursor, quote: string): string {
	const { line } = cursor;
	const inner = take(cursor, quote === "'" ? /([^']*)'/y : /([^"\\]*(?:\\[\s\S][^"\\]*)*)"/y)?.[1];
	if (inner === undefined) throw new DotenvError(line, "the quote that begins here is never closed");
	return quote === "'" ? inner : inner.replace(/\\\n/g, "").replace(/\\(["\\`$])/g, "$1");
}
