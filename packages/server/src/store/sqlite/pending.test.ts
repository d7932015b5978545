import assert from "node:assert/strict";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { makeFolder } from "../../testing/store.ts";
import { migrate, pendingMigration } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openWriter } from "./open.ts";
import { openSqliteStore } from "./store.ts";

const NOW = new Date("2030-01-01T00:00:00.000Z");
const NEWEST = MIGRATIONS.at(-1)?.name ?? "";

/** A database with data as the previous release left it: its list of migrations lacks the newest. */
async function setUp(t: TestContext) {
	const directory = await makeFolder(t);
	const file = join(directory, "svc.db");
	const db = openWriter(file);
	t.after(() => db.close());
	migrate(db, NOW.toISOString());
	db.exec(`INSERT INTO keyring (id, purpose, realm_id, state, wrapped, created_at) VALUES (zeroblob(8), 'session', '', 'active', zeroblob(73), '');
		DELETE FROM migration WHERE name = '${NEWEST}'`);
	return { directory, file, db };
}

test("a database with data waits for the newest migration, and nothing waits where there is none", async (t) => {
	const { directory, file } = await setUp(t);
	assert.equal(pendingMigration(file), NEWEST);
	assert.equal(pendingMigration(join(directory, "nothing.db")), undefined);
});

test("while another program holds the database the start is refused: nothing is migrated without a backup", async (t) => {
	const { directory, file, db } = await setUp(t);
	db.close();
	const holder = new Database(file);
	holder.pragma("locking_mode = EXCLUSIVE");
	holder.exec("BEGIN IMMEDIATE; INSERT INTO meta (name, value) VALUES ('held', '1')");
	let backups = 0;
	const beforeMigration = async () => void backups++;
	// The holder releases the database as soon as the check has failed: the writer would find it free.
	const released = nextTurn().then(() => holder.close());
	const start = openSqliteStore({ directory, now: NOW, onFailure: () => undefined, beforeMigration });
	await assert.rejects(
		start,
		(error) => error instanceof FatalError && /another program has locked/.test(error.message),
	);
	assert.equal(backups, 0);
	await released;
	assert.equal(pendingMigration(file), NEWEST);
});

test("a transaction that was cut off before there was a write-ahead log is rolled back before it is asked what waits", async (t) => {
	const { file, db } = await setUp(t);
	db.pragma("journal_mode = DELETE");
	db.pragma("cache_size = 1");
	db.exec(`BEGIN; WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < 500)
		INSERT INTO meta (name, value) SELECT 'half ' || value, hex(randomblob(2000)) FROM number`);
	const cutOff = join(await makeFolder(t), "svc.db");
	for (const part of ["", "-journal"]) copyFileSync(file + part, cutOff + part);
	db.exec("ROLLBACK");
	assert.equal(pendingMigration(cutOff), NEWEST);
	assert.equal(existsSync(`${cutOff}-journal`), false);
	const whole = new Database(cutOff, { readonly: true });
	assert.equal(whole.prepare("SELECT count(*) FROM meta").pluck().get(), 0);
	whole.close();
});
