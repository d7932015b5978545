import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Forgery } from "./trial.ts";
import type { ForgedWorld } from "./world.ts";

/** Removes the entries of an index, and leaves its text as it was. */
function emptyIndex(database: DatabaseSync, name: string): void {
	const sql = String(database.prepare("SELECT sql FROM main.sqlite_schema WHERE name = ?").get(name)?.sql);
	const setText = (text: string) => {
		database.exec("PRAGMA writable_schema = ON");
		database.prepare("UPDATE main.sqlite_schema SET sql = ? WHERE name = ?").run(text, name);
		database.exec("PRAGMA writable_schema = RESET");
	};
	setText(/ WHERE /.test(sql) ? sql.replace(/ WHERE .*$/s, " WHERE 0") : `${sql} WHERE 0`);
	database.exec(`REINDEX main.${name}`);
	setText(sql);
}

/** Names the indexes of the log that have entries: without any, none is hidden. */
function filledIndexes({ honest }: ForgedWorld): string[] {
	const database = new DatabaseSync(join(honest, "svc.db"), { readOnly: true });
	const indexes = database
		.prepare(
			"SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('audit_event', 'audit_block')",
		)
		.all()
		.map(({ name, tbl_name, sql }) => ({
			name: String(name),
			table: String(tbl_name),
			where: / WHERE .*$/s.exec(String(sql))?.[0] ?? "",
		}));
	const filled = indexes.filter(
		({ table, where }) => database.prepare(`SELECT 1 FROM ${table} NOT INDEXED ${where} LIMIT 1`).get() !== undefined,
	);
	database.close();
	return filled.map(({ name }) => name);
}

/** Removes the entries of an index. */
export const emptied = (index: string): Forgery => ({
	name: `index: ${index} emptied`,
	apply: (database) => emptyIndex(database, index),
});

/** Forgeries of the log's indexes, behind which events would not be found. */
export function ofIndexes(world: ForgedWorld): Forgery[] {
	return filledIndexes(world).flatMap((index) => [
		emptied(index),
		{ name: `index: ${index} dropped`, apply: (database) => database.exec(`DROP INDEX main.${index}`) },
	]);
}
