import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { VALUES_LAST } from "./0010-values-last.ts";

test("every version is what it was, in the same order, and its value is the end of its row", () => {
	const db = new Database(":memory:");
	db.pragma("foreign_keys = ON");
	for (const { sql } of MIGRATIONS.slice(0, MIGRATIONS.indexOf(VALUES_LAST))) db.exec(sql);
	db.exec(`
		INSERT INTO account (id, email, name, instance_admin, created_at) VALUES ('u', 'u@example.com', '', 1, '');
		INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES ('r', 'r', '', '', 'u', '');
		INSERT INTO secret (id, realm_id, environment, key, version, created_at) VALUES (1, 'r', 'dev', 'A', 2, ''), (2, 'r', 'dev', 'B', 1, '')`);
	const write = db.prepare(
		"INSERT INTO secret_version (secret_id, version, id, value, pre_encrypted, comment, expires_at, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	);
	write.run(2, 1, "b1", Buffer.alloc(100_000, 7), 0, "first", null, "u", "2026-01-01");
	write.run(1, 1, "a1", Buffer.from("one"), 1, "", "2026-02-02", "u", "2026-01-02");
	write.run(1, 2, "a2", Buffer.from("two"), 0, "again", null, "v", "2026-01-03");
	const versions = () => db.prepare("SELECT rowid, * FROM secret_version ORDER BY rowid").all();
	const before = versions();
	db.exec(VALUES_LAST.sql);
	assert.deepEqual(versions(), before);
	const columns = db.prepare("SELECT name FROM pragma_table_info('secret_version') ORDER BY cid").pluck().all();
	assert.equal(columns.at(-1), "value");
	db.exec("DELETE FROM secret WHERE id = 1");
	assert.equal(versions().length, 1, "versions go with their secret");
	db.close();
});
