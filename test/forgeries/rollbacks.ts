import type { DatabaseSync } from "node:sqlite";
import { ROW_KINDS, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import { type Forgery, KEPT } from "./trial.ts";

const ACCESS = (Object.keys(ROW_KINDS) as RowTable[]).filter((table) => ROW_KINDS[table].sum === "access");

const LOG = ["audit_event", "audit_checkpoint"];

const replace = (database: DatabaseSync, tables: readonly string[]) => {
	for (const table of tables)
		database.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM ${KEPT}.${table}`);
};

const putBack = (name: string, tables: readonly string[], andThen?: (database: DatabaseSync) => void): Forgery => ({
	name: `rollback: ${name}`,
	apply: (database) =>
		tamperWith(database, () => {
			replace(database, tables);
			andThen?.(database);
		}),
});

/** Puts an empty tree in the place of each index that finds the rows of a table by their ids. */
function emptyIndexesById(database: DatabaseSync, table: RowTable): void {
	const indexes = database
		.prepare(
			"SELECT l.name FROM pragma_index_list(?, 'main') l JOIN pragma_index_info(l.name, 'main') i WHERE i.seqno = 0 AND i.name = 'id'",
		)
		.all(table);
	for (const { name } of indexes)
		database.exec(`CREATE INDEX main.emptied ON ${table} (id) WHERE 0; PRAGMA writable_schema = ON;
			UPDATE main.sqlite_schema SET rootpage = (SELECT rootpage FROM main.sqlite_schema WHERE name = 'emptied') WHERE name = '${name}';
			DELETE FROM main.sqlite_schema WHERE name = 'emptied'; PRAGMA writable_schema = RESET`);
}

/** Hides from a start that versions and leases are newer than the tip, where it asks an index. */
const behindIndexes = (database: DatabaseSync) => {
	for (const table of ["secret_version", "lease"] as const) emptyIndexesById(database, table);
};

/** Rights, log and tip of one earlier time, over newer content. */
export const OVER_NEWER_CONTENT: readonly Forgery[] = [
	putBack("rights, log and tip", [...ACCESS, ...LOG, "tip"]),
	putBack("rights, log and tip, behind empty indexes of the content", [...ACCESS, ...LOG, "tip"], behindIndexes),
	putBack("rights, log, tip and leases", [...ACCESS, ...LOG, "tip", "lease", "lease_count", "meta"]),
];

/** The same without one table of rights. */
export const WITH_ONE_TABLE_KEPT: readonly Forgery[] = ACCESS.map((kept) =>
	putBack(`rights but ${kept}, log and tip`, [...ACCESS.filter((table) => table !== kept), ...LOG, "tip"]),
);

const SECRET = (schema: string) => `SELECT id FROM ${schema}.secret WHERE key = 'SECOND'`;

/** One part of the content as it once was, with MACs that were valid then. */
export const OF_CONTENT: readonly Forgery[] = [
	{
		name: "rollback: a secret and its versions",
		apply: (database) =>
			database.exec(`DELETE FROM main.secret_version WHERE secret_id IN (${SECRET("main")});
				DELETE FROM main.secret WHERE key = 'SECOND';
				INSERT INTO main.secret SELECT * FROM ${KEPT}.secret WHERE key = 'SECOND';
				INSERT INTO main.secret_version SELECT * FROM ${KEPT}.secret_version WHERE secret_id IN (${SECRET(KEPT)})`),
	},
	{ name: "rollback: what the server notes of itself", apply: (database) => replace(database, ["meta"]) },
];
