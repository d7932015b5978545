import type { openWriter } from "../store/sqlite/open.ts";

/** Writes a value of a type that a column never has into all rows of a table, whose text stays as it was: writable_schema allows that to any program. */
export function setMistyped(db: ReturnType<typeof openWriter>, table: string, column: string, value: string): void {
	db.unsafeMode();
	const sql = db
		.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?")
		.pluck()
		.get(table) as string;
	const setText = (text: string) => {
		db.pragma("writable_schema = ON");
		db.prepare("UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?").run(text, table);
		db.pragma("writable_schema = RESET");
	};
	setText(sql.replaceAll(/ (TEXT|INTEGER(?! PRIMARY)|BLOB)\b( NOT NULL)?| STRICT,?/g, ""));
	db.pragma("ignore_check_constraints = ON");
	db.exec(`UPDATE ${table} SET ${column} = ${value}`);
	setText(sql);
}
