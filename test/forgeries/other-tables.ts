import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OTHER_TABLES } from "../../packages/server/src/store/row-kinds.ts";
import { type Forgery, KEPT } from "./trial.ts";
import type { ForgedWorld } from "./world.ts";

/** Changes tables whose triggers keep every row: drops the triggers, and makes them again. */
export function untriggered(database: DatabaseSync, sql: string): void {
	const triggers = database
		.prepare("SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name LIKE 'audit%'")
		.all();
	for (const { name } of triggers) database.exec(`DROP TRIGGER main.${name}`);
	database.exec(sql);
	for (const trigger of triggers) database.exec(String(trigger.sql));
}

const rowsOf = (database: DatabaseSync, table: string) =>
	JSON.stringify(database.prepare(`SELECT * FROM main.${table} ORDER BY 1, 2`).all());

/** Forgeries of the rows of a table without MACs: those that change something in this world. */
export function ofOtherTable({ honest, before }: ForgedWorld, table: string): Forgery[] {
	const database = new DatabaseSync(join(honest, "svc.db"), { enableForeignKeyConstraints: false });
	database.exec(`ATTACH '${join(before, "svc.db")}' AS ${KEPT}`);
	const all = `DELETE FROM main.${table}`;
	const forgeries: [what: string, sql: string][] = [
		["all rows deleted", all],
		["rows put back as they once were", `${all}; INSERT INTO main.${table} SELECT * FROM ${KEPT}.${table}`],
		...(table === "lease_count"
			? ([
					["a count of none", "UPDATE main.lease_count SET count = 0"],
					["a count of many", "UPDATE main.lease_count SET count = count + 1000000"],
					["a count of another engine", "INSERT INTO main.lease_count VALUES ('documentdb', '', 'active', 7)"],
				] as [string, string][])
			: []),
	];
	const honestly = rowsOf(database, table);
	const hasEffect = ([, sql]: [string, string]) => {
		database.exec("BEGIN");
		untriggered(database, sql);
		const differs = rowsOf(database, table) !== honestly;
		database.exec("ROLLBACK");
		return differs;
	};
	const found = forgeries.filter(hasEffect);
	database.close();
	return found.map(([what, sql]) => ({ name: `${table}: ${what}`, apply: (changed) => untriggered(changed, sql) }));
}

/** Tables without MACs. */
export const OTHERS = Object.keys(OTHER_TABLES);
