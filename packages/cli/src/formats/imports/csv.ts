import { addProblem, type Draft } from "./import-result.ts";

/** A row of a file, with the line where it begins. */
interface Row {
	readonly line: number;
	readonly cells: readonly string[];
}

const CELL = /"([^"]*(?:""[^"]*)*)"|([^",\r\n]*)/y;
const SEPARATOR = /,|\r?\n|$/y;

/** Reads CSV (RFC 4180) whose first row names its columns; `key` or `name`, and `value`, are read, in any case of their letters. */
export function readCsv(draft: Draft, text: string): void {
	const rows = readRows(draft, text);
	const [head, ...others] = rows;
	const columns = head?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
	const key = columns.includes("key") ? columns.indexOf("key") : columns.indexOf("name");
	const value = columns.indexOf("value");
	if (key === -1 || value === -1) {
		if (draft.problems.length === 0)
			addProblem(draft, 1, "the first line names the columns, and key and value must be among them");
		return;
	}
	for (const { line, cells } of others) {
		if (cells.length === columns.length) draft.entries.push({ key: cells[key] ?? "", value: cells[value] ?? "", line });
		else addProblem(draft, line, `has ${cells.length} cells, and the first line has ${columns.length}`);
	}
}

function readRows(draft: Draft, text: string): Row[] {
	const rows: Row[] = [];
	let cells: string[] = [];
	let [at, line, start] = [0, 1, 1];
	while (at < text.length || cells.length > 0) {
		CELL.lastIndex = at;
		const [cell = "", quoted, bare = ""] = CELL.exec(text) ?? [];
		SEPARATOR.lastIndex = at + cell.length;
		const separator = SEPARATOR.exec(text)?.[0];
		if (separator === undefined) {
			addProblem(draft, line, "a quote is never closed, or something follows the closing one");
			return rows;
		}
		cells.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
		at += cell.length + separator.length;
		line += cell.split("\n").length - 1;
		if (separator === ",") continue;
		// An empty line is no row.
		if (cells.length > 1 || cells[0] !== "") rows.push({ line: start, cells });
		cells = [];
		line += separator === "" ? 0 : 1;
		start = line;
	}
	return rows;
}
