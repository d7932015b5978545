// A .env file is a list of entries and comments:
//   # a comment            export KEY=value   # also with `export`, and with a comment after a blank
//   KEY='anything up to the next quote, line breaks included'
//   KEY="the same, with \n \r \t \\ \" \$ as escapes"
// `$` is an ordinary character: nothing is expanded. Quoted text is kept byte for byte, CRLF included.
// Errors name lines and never content, because the content is secret.

import { isUtf8 } from "node:buffer";

/** One `KEY=value` of a file. */
export interface DotenvEntry {
	readonly key: string;
	/** Empty when nothing stands after the `=`. */
	readonly value: string;
	/** Line of the key, counted from 1. */
	readonly line: number;
}

/** An error in the file; the message names the line and none of its content. */
export class DotenvError extends Error {
	constructor(line: number, problem: string) {
		super(`line ${line}: ${problem}`);
		this.name = "DotenvError";
	}
}

/** Position of the reader. */
interface Cursor {
	readonly text: string;
	at: number;
	/** Counted from 1. */
	line: number;
}

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
export function parseDotenv(text: string): DotenvEntry[] {
	const cursor: Cursor = { text: text.startsWith("\ufeff") ? text.slice(1) : text, at: 0, line: 1 };
	const entries = new Map<string, DotenvEntry>();
	while (cursor.at < cursor.text.length) {
		if (take(cursor, REST_OF_NOTHING)) continue;
		const entry = readEntry(cursor);
		const earlier = entries.get(entry.key);
		if (earlier) throw new DotenvError(entry.line, `the same key is already on line ${earlier.line}`);
		entries.set(entry.key, entry);
	}
	return [...entries.values()];
}

function readEntry(cursor: Cursor): DotenvEntry {
	const { line } = cursor;
	const key = take(cursor, KEY)?.[1];
	if (key === undefined) throw new DotenvError(line, "expected KEY=value, a comment or nothing");
	const quote = take(cursor, OPENING_QUOTE)?.[1];
	return { key, value: quote === undefined ? readBare(cursor) : readQuoted(cursor, quote), line };
}

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

/** Matches at the cursor and moves past the match. */
function take(cursor: Cursor, pattern: RegExp): RegExpExecArray | null {
	pattern.lastIndex = cursor.at;
	const match = pattern.exec(cursor.text);
	if (match) advance(cursor, match[0].length);
	return match;
}

function advance(cursor: Cursor, length: number): void {
	const end = cursor.at + length;
	for (let at = cursor.text.indexOf("\n", cursor.at); at !== -1 && at < end; at = cursor.text.indexOf("\n", at + 1))
		cursor.line++;
	cursor.at = end;
}

// By hand: /[ \t]+$/ takes quadratic time on long runs of blanks, and trim() takes more than blanks.
function trimBlanks(text: string): string {
	const isBlank = (index: number) => text[index] === " " || text[index] === "\t";
	let start = 0;
	let end = text.length;
	while (start < end && isBlank(start)) start++;
	while (end > start && isBlank(end - 1)) end--;
	return text.slice(start, end);
}
