import type { Sql } from "./connection.ts";

/** Text in place of U+0000, which PostgreSQL takes in no text: nothing that is stored has it, unless somebody stored just this. */
const NEVER_STORED = "\u{10ffff}U+0000\u{10ffff}";

/** Makes questions take text with U+0000, which then matches nothing, as on SQLite. */
export function takingOddText(sql: Sql): Sql {
	return {
		rows: (text, values = []) => sql.rows(text, values.map(findable)),
		run: (text, values = []) => sql.run(text, values.map(findable)),
	};
}

function findable(value: unknown): unknown {
	if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", NEVER_STORED) : value;
	return Array.isArray(value) ? value.map(findable) : value;
}
