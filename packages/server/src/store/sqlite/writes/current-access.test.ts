import assert from "node:assert/strict";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { openTestStore, trustAllRows } from "../../../testing/store.ts";
import { accessRows } from "./current-access.ts";

const { file } = await openTestStore({ after });

test("the maker of a change is looked up by indexes alone", () => {
	const asked: string[] = [];
	const db = new Database(file, { readonly: true });
	trustAllRows(db);
	const prepare = (sql: string) => {
		asked.push(sql);
		return db.prepare(sql);
	};
	accessRows({ prepare } as unknown as Database.Database);
	assert.equal(asked.length, 8);
	for (const sql of asked) {
		const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll("?", "''")}`).all() as { detail: string }[];
		for (const { detail } of plan) assert.match(detail, /^SEARCH [\w.]+ USING /, sql);
	}
	db.close();
});
