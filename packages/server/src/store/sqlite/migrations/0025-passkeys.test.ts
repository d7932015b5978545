import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { PASSKEYS } from "./0025-passkeys.ts";

test("apps of an older database stay as they are, with the MACs of their rows", () => {
	const db = new Database(":memory:");
	for (const { sql } of MIGRATIONS.slice(0, MIGRATIONS.indexOf(PASSKEYS))) db.exec(sql);
	db.exec(
		"INSERT INTO account (id, email, name, instance_admin, created_at) VALUES ('ada', 'ada@example.com', 'Ada', 0, '')",
	);
	db.exec(
		"INSERT INTO factor (rowid, id, user_id, type, sealed, last_step, created_at, confirmed_at, mac) VALUES " +
			"(7, 'b', 'ada', 'totp', x'01', 100, '2030', '2031', x'aa'), (9, 'a', 'ada', 'totp', x'02', 0, '2032', NULL, x'bb')",
	);
	const rows = () =>
		db.prepare("SELECT rowid AS at, id, sealed, last_step, confirmed_at, mac FROM factor ORDER BY rowid").all();
	const before = rows();
	db.exec(PASSKEYS.sql);
	assert.deepEqual(rows(), before);
	assert.deepEqual(db.prepare("SELECT DISTINCT name, rp_id FROM factor").all(), [{ name: null, rp_id: null }]);
	db.exec("UPDATE factor SET type = 'passkey' WHERE id = 'a'");
	assert.throws(() => db.exec("UPDATE factor SET type = 'sms' WHERE id = 'a'"), /CHECK/);
	db.pragma("foreign_keys = ON");
	db.exec("DELETE FROM account");
	assert.deepEqual(rows(), []);
	db.close();
});
