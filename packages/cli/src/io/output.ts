import { type Io, setting, write } from "./io.ts";

// Control characters (C0, DEL, C1), and characters that reorder or break a line: bidirectional controls and the two separators.
const UNSAFE = /[\p{Cc}\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const UNSAFE_IN_JSON = /[\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const WIDE = /\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Emoji_Presentation}/u;

/** The text on one line, without anything that a terminal would obey: `\n`, `\t`, `\u001b` and the like are spelled out. */
export function visible(text: string): string {
	return text.replace(UNSAFE, (character) => SHORT[character] ?? codeUnit(character));
}

/** An equivalent JSON document without anything that a terminal would obey. @param indent 0 for one on one line */
export function toJson(document: unknown, indent = 2): string {
	return JSON.stringify(document, null, indent).replace(UNSAFE_IN_JSON, codeUnit);
}

function codeUnit(character: string): string {
	return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Needs of a command that prints. */
export interface Printer {
	readonly io: Io;
	readonly options: { readonly json?: boolean };
}

/**
 * Prints a command's result: the document with `--json`, else the text.
 * @param text lines for a person, already made `visible`
 */
export async function show({ io, options }: Printer, document: unknown, text: string): Promise<void> {
	await write(io.stdout, `${options.json === true ? toJson(document) : text}\n`);
}

/**
 * Prints a list: the document with `--json`, else one aligned line per row; without rows, a remark on stderr.
 * @param titles column headings
 * @param empty remark for a person when there are no rows
 */
export async function showTable(
	printer: Printer,
	document: unknown,
	titles: readonly string[],
	rows: readonly (readonly string[])[],
	empty: string,
): Promise<void> {
	if (printer.options.json === true) await show(printer, document, "");
	else if (rows.length === 0) await note(printer, empty);
	else await write(printer.io.stdout, `${table(titles, rows, isColourful(printer.io)).join("\n")}\n`);
}

/** Certificates and keys, without anything that a terminal would obey, and without a line that could pass for another field. */
const PEM = /^(?:-----BEGIN [A-Z0-9 ]+-----\n(?:[A-Za-z0-9+/=]+\n)+-----END [A-Z0-9 ]+-----\n?)+$/;

/** Prints names and values below each other; values are made visible. PEM keeps its lines, so that you can copy it. */
export async function showFields(
	printer: Printer,
	document: unknown,
	fields: readonly (readonly [string, string])[],
): Promise<void> {
	const width = Math.max(...fields.map(([name]) => name.length));
	const lines = fields.map(([name, value]) =>
		PEM.test(value) ? `${name}\n${value.trimEnd()}` : `${name.padEnd(width)}  ${visible(value)}`.trimEnd(),
	);
	await show(printer, document, lines.join("\n"));
}

/** Prints a remark beside the result, on stderr; silent with `--json`. */
export async function note({ io, options }: Printer, text: string): Promise<void> {
	if (options.json !== true) await write(io.stderr, `${text}\n`);
}

/** Lines of a table with aligned columns; the titles are bold when `bold` is set. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[], bold: boolean): string[] {
	const cells = rows.map((row) => row.map(visible));
	const widths = titles.map((title, column) =>
		Math.max(title.length, ...cells.map((row) => displayWidth(row[column] ?? ""))),
	);
	const line = (row: readonly string[]) =>
		row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - displayWidth(cell)));
	const head = line(titles).join("  ").trimEnd();
	return [bold ? `\u001b[1m${head}\u001b[22m` : head, ...cells.map((row) => line(row).join("  ").trimEnd())];
}

function isColourful(io: Io): boolean {
	return io.stdout.isTTY === true && setting(io, "NO_COLOR") === undefined && io.env.TERM !== "dumb";
}

let graphemes: Intl.Segmenter | undefined;

function displayWidth(text: string): number {
	// Loading its tables takes milliseconds, which most commands save.
	graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
	let width = 0;
	for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
	return width;
}
