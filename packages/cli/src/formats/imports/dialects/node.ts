import { type Cursor, take } from "../cursor.ts";
import type { Draft } from "../import-result.ts";

const BLANKS = /[ \t\n]+/y;

/**
 * Reads a file as `node --env-file` does: lines without a = are ignored, an open quote is an ordinary character, and in double quotes only \n is
 * an escape. See src/node_dotenv.cc of Node. (Its own parseEnv tells neither lines nor repeated keys.)
 */
export function readNodeDotenv(draft: Draft, text: string): void {
	const cursor: Cursor = { text: withoutEnd(text.replaceAll("\r", "")), at: 0, line: 1 };
	take(cursor, BLANKS);
	while (cursor.at < cursor.text.length) {
		// Blanks after it stay, so that Node takes a # behind them for the beginning of a key.
		if (take(cursor, /(?:#[^\n]*)?\n|#[^\n]*$/y)) continue;
		readLine(draft, cursor);
		take(cursor, BLANKS);
	}
}

function readLine(draft: Draft, cursor: Cursor): void {
	const { line } = cursor;
	const [, start = "", end] = take(cursor, /([^=\n]*)(=|\n|$)/y) ?? [];
	const key = start.trim();
	if (end !== "=") return;
	// Where nothing follows the =, Node keeps the `export`, too.
	if (take(cursor, /\n|$/y)) draft.entries.push({ key, value: "", line });
	else if (key !== "") draft.entries.push({ key: key.replace(/^export /, ""), value: readValue(cursor), line });
}

/** The text without blanks and line breaks at its end. */
function withoutEnd(text: string): string {
	let end = text.length;
	while (end > 0 && " \t\n".includes(text[end - 1] ?? "")) end--;
	return text.slice(0, end);
}

function readValue(cursor: Cursor): string {
	take(cursor, BLANKS);
	const [, double, single, back] = take(cursor, /(?:"([^"]*)"|'([^']*)'|`([^`]*)`)[^\n]*(?:\n|$)/y) ?? [];
	if (double !== undefined) return double.replaceAll("\\n", "\n");
	const quoted = single ?? back;
	if (quoted !== undefined) return quoted;
	const isOpen = /["'`]/.test(cursor.text[cursor.at] ?? "");
	const bare = take(cursor, /([^\n]*)(?:\n|$)/y)?.[1] ?? "";
	return isOpen ? bare : bare.replace(/#.*$/s, "").trim();
}
