import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../migrations.ts";
import { ENGINE_REALMS } from "./0005-engine-realms.ts";

test("a realm that used an engine's common configuration may go on using it, and no other realm", () => {
	const db = new Database(":memory:");
	for (const { sql } of MIGRATIONS.slice(0, MIGRATIONS.indexOf(ENGINE_REALMS))) db.exec(sql);
	db.pragma("foreign_keys = OFF");
	const realm = db.prepare(
		"INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES (?, ?, '', '', 'u', '')",
	);
	for (const id of ["leased", "own", "certified", "orchestrated", "refused", "unused"]) realm.run(id, id);
	db.exec(`INSERT INTO engine_config (id, engine, realm_id, state, sealed, created_by, created_at) VALUES
		('common', 'keyvalue', '', 'active', x'', '', ''), ('old', 'documentdb', '', 'retired', x'', '', '')`);
	const lease = db.prepare(
		`INSERT INTO lease (id, engine, target, name, scope, realm_id, realm, config_id, config_realm_id, role, user_id, state, due_at, expires_at, fence, created_at, closed_at)
		 VALUES (@id, @engine, '', @id, '', @realm_id, '', '', @config_realm_id, '', '', 'revoked', NULL, '', '', '', '')`,
	);
	for (const [engine, realm_id, config_realm_id] of [
		["keyvalue", "leased", ""],
		["keyvalue", "leased", ""],
		["keyvalue", "own", "own"],
		["keyvalue", "purged", ""],
		["documentdb", "leased", ""],
		["containerorch", "orchestrated", ""],
	])
		lease.run({ id: crypto.randomUUID(), engine, realm_id, config_realm_id });
	const event = db.prepare(
		"INSERT INTO audit_event (timestamp, type, actor, realm_id, realm, data, hash) VALUES ('', @type, '', @realm_id, '', @data, zeroblob(32))",
	);
	for (const [type, realm_id, data] of [
		["engine.generate", "certified", { engine: "pki" }],
		["engine.generate", "own", { engine: "keyvalue", lease_id: "of its own configuration" }],
		["engine.generate", "refused", { engine: "documentdb" }],
		["engine.denied", "unused", { engine: "pki" }],
	] as const)
		event.run({ type, realm_id, data: JSON.stringify(data) });
	db.exec(ENGINE_REALMS.sql);
	assert.deepEqual(
		db.prepare("SELECT engine, realm_id FROM engine_former_realm ORDER BY engine, realm_id").raw().all(),
		[
			["containerorch", "orchestrated"],
			["keyvalue", "leased"],
			["pki", "certified"],
		],
	);
	db.close();
});
