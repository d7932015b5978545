import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { CONFIG_ORDER } from "./0011-config-order.ts";

test("configurations of an older database keep the order in which they were set", () => {
	const db = new Database(":memory:");
	for (const { sql } of MIGRATIONS.slice(0, MIGRATIONS.indexOf(CONFIG_ORDER))) db.exec(sql);
	const insert = db.prepare(
		"INSERT INTO engine_config (rowid, id, engine, realm_id, state, sealed, created_by, created_at) VALUES (?, ?, 'e', '', ?, x'', '', '')",
	);
	insert.run(7, "second", "retired");
	insert.run(9, "third", "active");
	insert.run(2, "first", "retired");
	db.exec(CONFIG_ORDER.sql);
	assert.deepEqual(db.prepare("SELECT id FROM engine_config ORDER BY ordinal").pluck().all(), [
		"first",
		"second",
		"third",
	]);
	assert.throws(() => db.exec("UPDATE engine_config SET ordinal = 9 WHERE id = 'first'"), /UNIQUE/);
	db.close();
});
