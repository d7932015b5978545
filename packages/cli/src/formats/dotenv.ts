// A .env file is a list of entries and comments:
//   # a comment            export KEY=value   # also with `export`, and with a comment after a blank
//   KEY='anything up to the next quote, line breaks included'
//   KEY="the same, with \n \r \t \\ \" \$ as escapes"
// `$` is an ordinary character: nothing is expanded. Quoted text is kept byte for byte, CRLF included.
// Errors name lines and never content, because the content is secret.

import { isUtf8 } from "node:buffer";
import { advance, type Cursor, type Dialect, DotenvError, readLines, take, trimBlanks } from "./imports/cursor.ts";
import { type Draft, type ImportEntry, startResult } from "./imports/import-result.ts";

const REST_OF_NOTHING = /[ \t]*(?:#[^\n]*|\r)?(?:\n|$)/y;
const KEY = /[ \t]*(?:export[ \t]+)?([A-Za-z0-9_./-]+)[ \t]*=/y;
const OPENING_QUOTE = /[ \t]*(['"])/y;
const REST_OF_LINE = /([^\n]*?)\r?(?:\n|$)/y;
// As in a shell, a `#` begins a comment only after a blank: COLOUR=#fff is a value.
const COMMENT = /[ \t]#.*$/s;
const ESCAPE = /\\([nrt\\"$])/g;
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** The text of a file. @throws DotenvError naming the first line that is not UTF-8 */
export function decodeDotenv(bytes: Buffer): string {
	for (let line = 1, start = 0; !isUtf8(bytes.subarray(start)); line++) {
		const lineEnd = bytes.indexOf("\n", start);
		const end = lineEnd === -1 ? bytes.length : lineEnd + 1;
		if (!isUtf8(bytes.subarray(start, end))) throw new DotenvError(line, "is not UTF-8 text");
		start = end;
	}
	return bytes.toString("utf8");
}

/**
 * Reads the entries of a `.env` file in their order. A byte order mark and CRLF line ends are accepted.
 * @throws DotenvError on an open quote, a repeated key, and anything else that is not an entry
 */
export function parseDotenv(text: string): ImportEntry[] {
	const draft = startResult();
	readDotenv(draft, text);
	const entries = new Map<string, ImportEntry>();
	for (const entry of draft.entries) {
		const earlier = entries.get(entry.key);
		if (earlier) draft.problems.push({ line: entry.line, problem: `the same key is already on line ${earlier.line}` });
		else entries.set(entry.key, entry);
	}
	const [first] = draft.problems.sort((a, b) => a.line - b.line);
	if (first !== undefined) throw new DotenvError(first.line, first.problem);
	return draft.entries;
}

/** Like `parseDotenv`, but finds every mistake, and leaves repeated keys in. */
export function readDotenv(draft: Draft, text: string): void {
	readLines(draft, text.startsWith("\ufeff") ? text.slice(1) : text, OURS);
}

const OURS: Dialect = {
	between: REST_OF_NOTHING,
	key: KEY,
	value(cursor) {
		const quote = take(cursor, OPENING_QUOTE)?.[1];
		return quote === undefined ? readBare(cursor) : readQuoted(cursor, quote);
	},
};

function readBare(cursor: Cursor): string {
	const rest = take(cursor, REST_OF_LINE)?.[1] ?? "";
	return trimBlanks(rest.replace(COMMENT, ""));
}

function readQuoted(cursor: Cursor, quote: string): string {
	const inner = cursor.text.slice(cursor.at, closingQuote(cursor, quote));
	advance(cursor, inner.length + 1);
	const { line } = cursor;
	if (!take(cursor, REST_OF_NOTHING)) throw new DotenvError(line, "only a comment may follow the closing quote");
	return quote === "'" ? inner : inner.replace(ESCAPE, (_, character: string) => ESCAPED[character] ?? character);
}

function closingQuote({ text, at, line }: Cursor, quote: string): number {
	for (let index = at; index < text.length; index++) {
		if (text[index] === quote) return index;
		if (text[index] === "\\" && quote === '"') index++;
	}
	throw new DotenvError(line, "the quote that begins here is never closed");
}
