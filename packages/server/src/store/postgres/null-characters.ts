import type { Sql } from "./connection.ts";

/** Replaces U+0000, which PostgreSQL refuses in text. No stored text contains it, unless somebody stores exactly this. */
const PLACEHOLDER = "\u{10ffff}U+0000\u{10ffff}";

/** Wraps a connection so that parameters may contain U+0000, which then matches nothing, as on SQLite. */
export function withoutNullCharacters(sql: Sql): Sql {
	return {
		rows: (text, values = []) => sql.rows(text, values.map(replaceNullCharacters)),
		run: (text, values = []) => sql.run(text, values.map(replaceNullCharacters)),
	};
}

function replaceNullCharacters(value: unknown): unknown {
	if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", PLACEHOLDER) : value;
	return Array.isArray(value) ? value.map(replaceNullCharacters) : value;
}
