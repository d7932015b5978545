import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { makeFolder } from "../../testing/store.ts";
import { createMigrationList, migrate } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { schemaAlterations } from "./schema-alterations.ts";
import { openSqliteStore } from "./store.ts";

const NOW = new Date("2030-01-01T00:00:00.000Z");

const PROMOTE = "CREATE TRIGGER promote AFTER INSERT ON account BEGIN UPDATE account SET instance_admin = 1; END";

/** Changes of the schema by another program, and the name that the report shows. */
const ALTERATIONS: Record<string, [sql: string, named: string[]]> = {
	"a trigger more": [PROMOTE, ["trigger promote"]],
	"a view more": ["CREATE VIEW seen AS SELECT * FROM account", ["view seen"]],
	"a table more": ["CREATE TABLE kept (x TEXT)", ["table kept"]],
	"a trigger less": ["DROP TRIGGER audit_event_keep", ["trigger audit_event_keep"]],
	"an index less": ["DROP INDEX realm_by_slug", ["index realm_by_slug"]],
	"a column more": ["ALTER TABLE binding ADD COLUMN hidden TEXT", ["table binding"]],
	"a trigger with another text": [
		"DROP TRIGGER audit_event_stay; CREATE TRIGGER audit_event_stay BEFORE DELETE ON audit_event BEGIN SELECT 1; END",
		["trigger audit_event_stay"],
	],
	"a view in a table's place": [
		"ALTER TABLE meta RENAME TO hidden; CREATE VIEW meta AS SELECT * FROM hidden",
		["table hidden", "table meta", "view meta"],
	],
};

for (const [what, [sql, named]] of Object.entries(ALTERATIONS)) {
	test(`${what} than the migrations made is named`, (t) => {
		const db = new Database(":memory:");
		t.after(() => db.close());
		migrate(db, "");
		const ask = schemaAlterations(db);
		assert.deepEqual(ask(), []);
		db.exec(sql);
		assert.deepEqual(ask(), named);
	});
}

/** Makes a database as the release with this number of migrations left it. */
function makeOlder(file: string, applied: number): Database.Database {
	const db = new Database(file);
	createMigrationList(db);
	const add = db.prepare("INSERT INTO migration VALUES (?, ?, '')");
	for (const { name, sql } of MIGRATIONS.slice(0, applied)) {
		db.exec(sql);
		add.run(name, hash("sha256", sql));
	}
	return db;
}

test("a database of each earlier release has the schema that its migrations made", (t) => {
	for (const applied of MIGRATIONS.keys()) {
		const db = makeOlder(":memory:", applied);
		t.after(() => db.close());
		assert.deepEqual(schemaAlterations(db, applied)(), []);
		assert.notDeepEqual(schemaAlterations(db)(), []);
	}
});

test("an older database with another program's trigger is not migrated", async (t) => {
	const directory = await makeFolder(t);
	const db = makeOlder(join(directory, "svc.db"), MIGRATIONS.length - 1);
	db.exec(
		"INSERT INTO keyring (id, purpose, realm_id, state, wrapped, created_at) VALUES (zeroblob(8), 'session', '', 'active', zeroblob(73), '')",
	);
	db.exec(PROMOTE);
	db.close();
	const beforeMigration = () => assert.fail("it was about to be migrated");
	await assert.rejects(
		openSqliteStore({ directory, now: NOW, onFailure: () => undefined, beforeMigration }),
		(error) => error instanceof FatalError && /altered by another program \(trigger promote\)/.test(error.message),
	);
});
