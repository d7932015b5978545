import { paintState } from "./colour.ts";
import { displayWidth, shorten, wrap } from "./display-width.ts";
import { relativeTime } from "./duration.ts";

/** A column: a title alone for plain text, or a title and what the cells hold. */
export type Column =
	| string
	| { readonly title: string; readonly holds: "id" | "instant" | "state" | "line"; readonly isSpare?: true };

/** A column of ids, which are shortened where there is no room. */
export const ids = (title: string): Column => ({ title, holds: "id" });

/** A column of instants, which are relative on a terminal. */
export const instants = (title: string): Column => ({ title, holds: "instant" });

/** A column of states, such as `ok` or `failed`, which have colours on a terminal. */
export const states = (title: string): Column => ({ title, holds: "state" });

/** A column whose cells are cut at their end where there is no room, so that each row is one line. */
export const cut = (title: string): Column => ({ title, holds: "line" });

/** A column like that, which is left out where there is still no room. */
export const spare = (title: string): Column => ({ title, holds: "line", isSpare: true });

/** How a table is laid out. */
export interface Layout {
	/** Columns of the terminal; infinitely many for a file or a program. */
	readonly width: number;
	readonly hasColours: boolean;
	/** Shows instants as they are. */
	readonly isExact: boolean;
}

/** A laid out table: the title's line, and the lines of each row. */
export interface Lines {
	readonly head: readonly string[];
	readonly rows: readonly (readonly string[])[];
}

/** Layout of a table for a file or a program. */
export const PLAIN: Layout = { width: Number.POSITIVE_INFINITY, hasColours: false, isExact: true };

const GAP = "  ";

/**
 * Lays out a table with aligned columns. Where it is wider than the terminal, it first shortens ids, then wraps texts between words, leaves out
 * columns that can be spared, the first of them first, and as a last resort shows each row as a block of lines.
 * @param rows cells, already made `visible`
 */
export function layOut(columns: readonly Column[], rows: readonly (readonly string[])[], layout: Layout): Lines {
	const shown = rows.map((row) => columns.map((column, at) => shownCell(column, row[at] ?? "", layout)));
	const titles = columns.map(titleOf);
	const natural = widthsOf([titles, ...shown], displayWidth);
	if (totalOf(natural) <= layout.width) return align(columns, shown, natural, layout);
	const short = shown.map((row) =>
		row.map((cell, at) => (["id", "line"].includes(holds(columns[at])) ? shortId(cell) : cell)),
	);
	const wanted = widthsOf([titles, ...short], displayWidth);
	const least = widthsOf([titles, ...short], (cell, at) => leastWidth(cell, holds(columns[at])));
	if (totalOf(least) > layout.width) {
		const spared = columns.findIndex((column) => typeof column !== "string" && column.isSpare === true);
		if (spared === -1) return blocks(columns, shown, layout);
		const without = <Item>(items: readonly Item[]) => items.filter((_, at) => at !== spared);
		return layOut(without(columns), rows.map(without), layout);
	}
	return align(columns, short, narrow(wanted, least, layout.width), layout);
}

function titleOf(column: Column): string {
	return typeof column === "string" ? column : column.title;
}

function holds(column: Column | undefined): "text" | "id" | "instant" | "state" | "line" {
	return column === undefined || typeof column === "string" ? "text" : column.holds;
}

function shownCell(column: Column, cell: string, { isExact }: Layout): string {
	return holds(column) === "instant" && !isExact ? relativeTime(cell) : cell;
}

const UUID = /^([\da-f]{8})-(?:[\da-f]{4}-){3}[\da-f]{8}([\da-f]{4})$/i;

function shortId(cell: string): string {
	return cell.replace(UUID, "$1…$2");
}

function widthsOf(rows: readonly (readonly string[])[], widthOf: (cell: string, at: number) => number): number[] {
	return (rows[0] ?? []).map((_, at) => rows.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? "", at)), 0));
}

/** Columns that a cut cell keeps at least. */
const LEAST_LINE = 10;

function leastWidth(cell: string, kind: ReturnType<typeof holds>): number {
	if (kind === "line") return Math.min(displayWidth(cell), LEAST_LINE);
	return kind === "text" ? Math.max(...cell.split(" ").map(displayWidth)) : displayWidth(cell);
}

function totalOf(widths: readonly number[]): number {
	return widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
}

/** Takes columns off the widest one that can spare some, until all fit. */
function narrow(wanted: readonly number[], least: readonly number[], width: number): number[] {
	const widths = [...wanted];
	for (let left = totalOf(widths) - width; left > 0; left--) {
		const spare = widths.map((own, at) => (own > (least[at] ?? 0) ? own : 0));
		const widest = spare.indexOf(Math.max(...spare));
		widths[widest] = (widths[widest] ?? 0) - 1;
	}
	return widths;
}

function align(
	columns: readonly Column[],
	rows: readonly (readonly string[])[],
	widths: readonly number[],
	{ hasColours }: Layout,
): Lines {
	const linesOf = (row: readonly string[], paint: (text: string, at: number) => string) => {
		const wrapped = row.map((cell, at) => (holds(columns[at]) === "line" ? shorten : wrap)(cell, widths[at] ?? 0));
		const height = Math.max(...wrapped.map((lines) => lines.length));
		return Array.from({ length: height }, (_, line) => {
			const pieces = wrapped.map((lines) => lines[line] ?? "");
			const last = pieces.findLastIndex((piece) => piece !== "");
			return pieces
				.slice(0, last + 1)
				.map((piece, at) => paint(piece, at) + " ".repeat(at === last ? 0 : (widths[at] ?? 0) - displayWidth(piece)))
				.join(GAP)
				.trimEnd();
		});
	};
	const paint = (text: string, at: number) => (hasColours && holds(columns[at]) === "state" ? paintState(text) : text);
	const head = linesOf(columns.map(titleOf), (text) => text);
	return {
		head: hasColours ? head.map((line) => `\u001b[1m${line}\u001b[22m`) : head,
		rows: rows.map((row) => linesOf(row, paint)),
	};
}

/** Each row as lines of title and cell, for a terminal that is narrower than the words of a row. */
function blocks(
	columns: readonly Column[],
	rows: readonly (readonly string[])[],
	{ width, hasColours }: Layout,
): Lines {
	const titles = columns.map(titleOf);
	const indent = Math.max(...titles.map(displayWidth)) + GAP.length;
	const pad = (title: string) => title + " ".repeat(indent - displayWidth(title));
	const linesOf = (row: readonly string[]) =>
		row.flatMap((cell, at) => {
			if (cell === "") return [];
			const [first = "", ...others] = wrap(cell, width - indent);
			const painted = hasColours && holds(columns[at]) === "state" ? paintState(first) : first;
			return [pad(titles[at] ?? "") + painted, ...others.map((line) => pad("") + line)];
		});
	return { head: [], rows: rows.map((row, at) => (at === 0 ? linesOf(row) : ["", ...linesOf(row)])) };
}
