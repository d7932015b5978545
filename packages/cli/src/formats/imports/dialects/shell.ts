import { type Cursor, type Dialect, DotenvError, take } from "../cursor.ts";

const OPEN = "the quote that begins here is never closed";
const RUNS = "a shell would expand or run something here, and svc does neither";

/** Parts of a word, and the text that each stands for. */
const PARTS: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
	[/'([^']*)'/y, ([, inner = ""]) => inner],
	[/\\\n/y, () => ""],
	[/\\([\s\S])/y, ([, character = ""]) => character],
	// A $ before anything that no expansion begins with is a $.
	[/[^\s'"\\$`|&;<>()~]+|~|\r|\$(?=[\s%+,./:=@\]^}~]|$)/y, ([all]) => all],
];

const IN_QUOTES: typeof PARTS = [
	[/\\\n/y, () => ""],
	[/\\(["\\$`])/y, ([, character = ""]) => character],
	[/[^"\\$`]+|\\|\$(?![\w@*#?$!({-])/y, ([all]) => all],
];

/** Assignments as a POSIX shell reads them from a file with `.`. */
export const shell: Dialect = {
	between: /[ \t]*(?:#[^\n]*)?(?:\n|$)/y,
	key: /[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=/y,
	value(cursor) {
		let value = "";
		for (let part = readPart(cursor); part !== undefined; part = readPart(cursor)) value += part;
		if (!take(cursor, /(?:[ \t]+(?:#[^\n]*)?)?(?:\n|$)/y)) throw new DotenvError(cursor.line, RUNS);
		return value;
	},
};

function readPart(cursor: Cursor): string | undefined {
	const { line } = cursor;
	// At the beginning and behind a colon it may stand for a home.
	if (cursor.text[cursor.at] === "~" && !/[\w./-]/.test(cursor.text[cursor.at - 1] ?? ""))
		throw new DotenvError(line, RUNS);
	if (!take(cursor, /"/y)) {
		if (cursor.text[cursor.at] === "'" && !cursor.text.includes("'", cursor.at + 1)) throw new DotenvError(line, OPEN);
		return firstOf(cursor, PARTS);
	}
	let value = "";
	for (let part = firstOf(cursor, IN_QUOTES); part !== undefined; part = firstOf(cursor, IN_QUOTES)) value += part;
	if (take(cursor, /"/y)) return value;
	throw new DotenvError(line, cursor.at === cursor.text.length ? OPEN : RUNS);
}

function firstOf(cursor: Cursor, parts: typeof PARTS): string | undefined {
	for (const [pattern, textOf] of parts) {
		const match = take(cursor, pattern);
		if (match !== null) return textOf(match);
	}
	return undefined;
}
