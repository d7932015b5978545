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

const putBack = (name: string, tables: readonly string[]): Forgery => ({
	name: `rollback: ${name}`,
	apply: (database) => tamperWith(database, () => replace(database, tables)),
});

/** Rights, log and tip of one earlier time, over newer content. */
export const OVER_NEWER_CONTENT: readonly Forgery[] = [
	putBack("rights, log and tip", [...ACCESS, ...LOG, "tip"]),
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
