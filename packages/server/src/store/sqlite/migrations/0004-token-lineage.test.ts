import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { TOKEN_LINEAGE } from "./0004-token-lineage.ts";

const SOON = "2030-06-01T00:00:00.000Z";
const LATER = "2031-06-01T00:00:00.000Z";

/** A database of the previous release, with tokens as `[id, maker, expires_at]`; the log names their makers. */
function olderWith(tokens: [id: string, maker: string | undefined, expires_at: string | null][]): Database.Database {
	const db = new Database(":memory:");
	for (const { name, sql } of MIGRATIONS) if (name < TOKEN_LINEAGE.name) db.exec(sql);
	db.exec("INSERT INTO account VALUES ('ada', 'ada@example.com', 'Ada', NULL, 0, NULL, '')");
	const token = db.prepare(
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, expires_at, created_at) VALUES (?, 'ada', '', '', randomblob(32), 'read', ?, '')",
	);
	const event = db.prepare("INSERT INTO audit_event VALUES (NULL, '', ?, ?, '', '', ?, randomblob(32))");
	for (const [id, maker, expires_at] of tokens) {
		token.run(id, expires_at);
		event.run("auth.token.created", "ada", JSON.stringify({ token_made: id, scopes: "read", token_id: maker }));
	}
	event.run("auth.token.created", "eve", JSON.stringify({ token_made: "alone", token_id: "first" }));
	event.run("auth.token.revoked", "ada", JSON.stringify({ token_revoked: "alone", token_id: "first" }));
	return db;
}

test("tokens from before have the makers that the log names, if these are there, and end with them at the latest", () => {
	const db = olderWith([
		["first", undefined, SOON],
		["second", "first", LATER],
		["third", "second", null],
		["fourth", "third", "2030-01-02T00:00:00.000Z"],
		["alone", undefined, null],
		["orphan", "gone", LATER],
		["endless", undefined, null],
		["child", "endless", LATER],
	]);
	db.exec(TOKEN_LINEAGE.sql);
	assert.deepEqual(db.prepare("SELECT id, maker_id, expires_at, engines FROM api_token ORDER BY rowid").raw().all(), [
		["first", null, SOON, null],
		["second", "first", SOON, null],
		["third", "second", SOON, null],
		["fourth", "third", "2030-01-02T00:00:00.000Z", null],
		["alone", null, null, null],
		["orphan", null, LATER, null],
		["endless", null, null, null],
		["child", "endless", LATER, null],
	]);
});

test("a long log costs a migration no more than one reading of it", () => {
	const db = olderWith([["first", undefined, null]]);
	db.exec(`WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < 2000)
		INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, created_at)
		SELECT 't' || value, 'ada', '', '', randomblob(32), 'read', '' FROM number`);
	db.exec(`WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < 100000)
		INSERT INTO audit_event SELECT NULL, '', iif(value <= 2000, 'auth.token.created', 'secret.read'), 'ada', '', '',
		json_object('token_made', 't' || value, 'token_id', 'first'), randomblob(32) FROM number`);
	const { user } = process.cpuUsage();
	db.exec(TOKEN_LINEAGE.sql);
	assert.ok(process.cpuUsage().user - user < 3_000_000, "microseconds");
	assert.equal(db.prepare("SELECT count(*) FROM api_token WHERE maker_id = 'first'").pluck().get(), 2000);
});
