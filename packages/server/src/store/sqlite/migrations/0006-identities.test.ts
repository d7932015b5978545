import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { IDENTITIES } from "./0006-identities.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("identities from before get ids, and the first of an account without a password is the one that made it", () => {
	const db = new Database(":memory:");
	for (const { name, sql } of MIGRATIONS) if (name < IDENTITIES.name) db.exec(sql);
	const account = db.prepare("INSERT INTO account VALUES (?, ?, '', ?, 0, NULL, '')");
	account.run("made", "made@example.com", null);
	account.run("linked", "linked@example.com", "a hash");
	const identity = db.prepare("INSERT INTO sso_identity VALUES ('corp', 'issuer', ?, ?, 1, ?)");
	identity.run("b", "made", "2030-01-02");
	identity.run("a", "made", "2030-01-03");
	identity.run("c", "linked", "2030-01-01");
	db.exec("INSERT INTO session VALUES ('jti', 'made', '2030-01-01', '2030-01-02')");
	db.exec(IDENTITIES.sql);
	const rows = db
		.prepare("SELECT subject, made_account, id FROM sso_identity ORDER BY subject")
		.raw()
		.all() as unknown[][];
	assert.deepEqual(
		rows.map(([subject, made]) => [subject, made]),
		[
			["a", 0],
			["b", 1],
			["c", 0],
		],
	);
	for (const [, , id] of rows) assert.match(String(id), UUID);
	assert.equal(new Set(rows.map(([, , id]) => id)).size, 3);
	assert.equal(db.prepare("SELECT provider FROM session").pluck().get(), "");
	db.close();
});
