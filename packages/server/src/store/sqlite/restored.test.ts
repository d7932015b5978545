import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { makeFolder } from "../../testing/store.ts";
import { adoptDraft, restoringFile } from "./restored.ts";

/** Reads a database after it has rolled back the transaction that was cut off. */
function heldBy(file: string): unknown {
	const db = new Database(file, { fileMustExist: true });
	try {
		return db.prepare("SELECT value FROM held").pluck().all();
	} finally {
		db.close();
	}
}

function make(file: string, value: string): Database.Database {
	const db = new Database(file);
	db.exec(`CREATE TABLE held (value TEXT); INSERT INTO held VALUES ('${value}')`);
	return db;
}

test("the journal of a start that was cut off goes with the old database, and is not played into the restored one", async (t) => {
	const [elsewhere, directory] = [await makeFolder(t), await makeFolder(t)];
	const file = join(elsewhere, "svc.db");
	const old = make(file, "old");
	old.pragma("cache_size = 1");
	old.exec(`BEGIN; UPDATE held SET value = 'half'; WITH RECURSIVE number (value) AS
		(SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < 500) INSERT INTO held SELECT hex(randomblob(2000)) FROM number`);
	for (const part of ["", "-journal"]) copyFileSync(file + part, join(directory, `svc.db${part}`));
	old.close();
	make(restoringFile(directory), "restored").close();
	adoptDraft(directory, "stamp");
	assert.deepEqual(heldBy(join(directory, "svc.db")), ["restored"]);
	assert.deepEqual(heldBy(join(directory, "svc.db.before-stamp")), ["old"]);
});
