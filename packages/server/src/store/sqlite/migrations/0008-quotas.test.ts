import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { QUOTAS } from "./0008-quotas.ts";

test("a database from before knows afterwards what each realm holds, deleted secrets and deleted realms included", () => {
	const db = new Database(":memory:");
	for (const { sql } of MIGRATIONS.slice(0, MIGRATIONS.indexOf(QUOTAS))) db.exec(sql);
	db.pragma("foreign_keys = OFF");
	const realm = db.prepare(
		"INSERT INTO realm (id, slug, name, description, user_id, created_at, deleted_at) VALUES (?, ?, '', '', 'u', '', ?)",
	);
	const secret = db.prepare(
		"INSERT INTO secret (id, realm_id, environment, key, version, created_at, deleted_at) VALUES (?, ?, 'dev', ?, 2, '', ?)",
	);
	const version = db.prepare(
		"INSERT INTO secret_version (secret_id, version, id, value, pre_encrypted, comment, created_by, created_at) VALUES (?, ?, '', zeroblob(?), 0, '', '', '')",
	);
	for (const [id, deleted_at] of [
		["full", null],
		["empty", null],
		["gone", ""],
	])
		realm.run(id, id, deleted_at);
	for (const [id, realm_id, key, deleted_at] of [
		[1, "full", "a", null],
		[2, "full", "b", ""],
		[3, "gone", "a", null],
	])
		secret.run(id, realm_id, key, deleted_at);
	for (const [secret_id, number, bytes] of [
		[1, 1, 100],
		[1, 2, 300_000],
		[3, 2, 7],
	])
		version.run(secret_id, number, bytes);
	db.exec(QUOTAS.sql);
	assert.deepEqual(db.prepare("SELECT id, bytes, keys FROM realm ORDER BY id").all(), [
		{ id: "empty", bytes: 0, keys: 0 },
		{ id: "full", bytes: 301_124, keys: 2 },
		{ id: "gone", bytes: 519, keys: 1 },
	]);
	db.close();
});
