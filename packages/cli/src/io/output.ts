import { isColourful, paintState } from "./colour.ts";
import { relativeTime } from "./duration.ts";
import { type Io, write } from "./io.ts";
import { writePaged } from "./pager.ts";
import { type Column, type Layout, layOut, PLAIN } from "./table.ts";

// Control characters (C0, DEL, C1), and characters that reorder or break a line: bidirectional controls and the two separators.
const UNSAFE = /[\p{Cc}\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const UNSAFE_IN_JSON = /[\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

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
	readonly options: { readonly json?: boolean; readonly wide?: boolean; readonly utc?: boolean };
}

/**
 * Prints a command's result: the document with `--json`, else the text.
 * @param text lines for a person, already made `visible`
 */
export async function show({ io, options }: Printer, document: unknown, text: string): Promise<void> {
	await write(io.stdout, `${options.json === true ? toJson(document) : text}\n`);
}

/**
 * Prints a list: the document with `--json`, else one aligned line per row; without rows, a remark on stderr. On a terminal, the table fits and
 * goes through a pager when it is long.
 * @param empty remark for a person when there are no rows
 */
export async function showTable(
	printer: Printer,
	document: unknown,
	columns: readonly Column[],
	rows: readonly (readonly string[])[],
	empty: string,
): Promise<void> {
	if (printer.options.json === true) await show(printer, document, "");
	else if (rows.length === 0) await note(printer, empty);
	else {
		const lines = layOut(columns, visibleCells(rows), layoutFor(printer));
		await writePaged(printer.io, `${[...lines.head, ...lines.rows.flat()].join("\n")}\n`);
	}
}

/** Cells without anything that a terminal would obey. */
export function visibleCells(rows: readonly (readonly string[])[]): string[][] {
	return rows.map((row) => row.map(visible));
}

const USUAL_WIDTH = 80;

/** The layout of tables that suits where the output goes: a file or a program gets every cell whole, on a line of its row. */
export function layoutFor({ io, options }: Printer): Layout {
	if (io.stdout.isTTY !== true) return PLAIN;
	// A terminal without a size says 0.
	const width = options.wide === true ? Number.POSITIVE_INFINITY : io.stdout.columns || USUAL_WIDTH;
	return { width, hasColours: isColourful(io), isExact: options.utc === true };
}

/** Certificates and keys, without anything that a terminal would obey, and without a line that could pass for another field. */
const PEM = /^(?:-----BEGIN [A-Z0-9 ]+-----\n(?:[A-Za-z0-9+/=]+\n)+-----END [A-Z0-9 ]+-----\n?)+$/;

/** A name, a value, and what it is when a terminal shows it in another way. */
export type Shown = readonly [name: string, value: string, holds?: "instant" | "state"];

/** Prints names and values below each other; values are made visible. PEM keeps its lines, so that you can copy it. */
export async function showFields(printer: Printer, document: unknown, fields: readonly Shown[]): Promise<void> {
	// A terminal without a size says 0.
	const width = Math.max(...fields.map(([name]) => name.length));
	const lines = fields.map(([name, value, holds]) =>
		PEM.test(value)
			? `${name}\n${value.trimEnd()}`
			: `${name.padEnd(width)}  ${shownValue(printer.io, visible(value), holds)}`.trimEnd(),
	);
	await show(printer, document, lines.join("\n"));
}

function shownValue(io: Io, value: string, holds: "instant" | "state" | undefined): string {
	if (holds === "instant" && io.stdout.isTTY === true && value !== "") return `${value} (${relativeTime(value)})`;
	return holds === "state" && isColourful(io) ? paintState(value) : value;
}

/** Prints a remark in addition to the result, on stderr; silent with `--json`. */
export async function note({ io, options }: Printer, text: string): Promise<void> {
	if (options.json !== true) await write(io.stderr, `${text}\n`);
}
