import type { Draft, ImportEntry } from "./import-result.ts";

/** A mistake in a file of lines; the message names the line and none of its content. */
export class DotenvError extends Error {
	readonly line: number;
	readonly problem: string;

	constructor(line: number, problem: string) {
		super(`line ${line}: ${problem}`);
		this.name = "DotenvError";
		this.line = line;
		this.problem = problem;
	}
}

/** Position of a reader in a text. */
export interface Cursor {
	readonly text: string;
	at: number;
	/** Counted from 1. */
	line: number;
}

/** The way to read one kind of `.env` file. */
export interface Dialect {
	/** Matches what separates entries: blank lines and comments. */
	readonly between: RegExp;
	/** Matches the beginning of an entry up to its value; its first group is the key. */
	readonly key: RegExp;
	/** Reads the value at the cursor, and the rest of its last line. @throws DotenvError */
	value(cursor: Cursor): string;
}

/** Reads all entries and finds all mistakes: after one, it goes on in the next line. */
export function readLines(draft: Draft, text: string, dialect: Dialect): void {
	const cursor: Cursor = { text, at: 0, line: 1 };
	while (cursor.at < text.length) {
		if (take(cursor, dialect.between)) continue;
		const { at, line } = cursor;
		const key = take(cursor, dialect.key)?.[1];
		const entry = readEntry(cursor, dialect, line, key);
		if (!(entry instanceof DotenvError)) draft.entries.push(entry);
		else {
			draft.problems.push({ line: entry.line, problem: entry.problem, ...(key === undefined ? {} : { key }) });
			// Some mistakes show only when the whole line was read.
			if (cursor.at === at || text[cursor.at - 1] !== "\n") take(cursor, /[^\n]*(?:\n|$)/y);
		}
	}
}

function readEntry(cursor: Cursor, dialect: Dialect, line: number, key: string | undefined): ImportEntry | DotenvError {
	if (key === undefined) return new DotenvError(line, "expected KEY=value, a comment or nothing");
	try {
		return { key, value: dialect.value(cursor), line };
	} catch (error) {
		if (error instanceof DotenvError) return error;
		throw error;
	}
}

/** Matches a sticky pattern at the cursor and moves past the match. */
export function take(cursor: Cursor, pattern: RegExp): RegExpExecArray | null {
	pattern.lastIndex = cursor.at;
	const match = pattern.exec(cursor.text);
	if (match) advance(cursor, match[0].length);
	return match;
}

/** Moves on by a number of characters. */
export function advance(cursor: Cursor, length: number): void {
	const end = cursor.at + length;
	for (let at = cursor.text.indexOf("\n", cursor.at); at !== -1 && at < end; at = cursor.text.indexOf("\n", at + 1))
		cursor.line++;
	cursor.at = end;
}

/** The text without blanks at both ends. */
export function trimBlanks(text: string): string {
	// By hand: /[ \t]+$/ takes quadratic time on long runs of blanks, and trim() takes more than blanks.
	const isBlank = (index: number) => text[index] === " " || text[index] === "\t";
	let start = 0;
	let end = text.length;
	while (start < end && isBlank(start)) start++;
	while (end > start && isBlank(end - 1)) end--;
	return text.slice(start, end);
}
