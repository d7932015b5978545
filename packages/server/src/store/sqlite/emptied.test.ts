import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { openKeyring } from "../../crypto/keyring.ts";
import { addAccount } from "../../testing/rules.ts";
import { makeFolder, openTestStore, ROW_KEY } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";
import { tamperWith } from "../../testing/tamper.ts";
import { wasAdopted } from "./adopt.ts";

const system = createTestSystem();

/** Opens a directory's store with its keyring, as the server does. */
async function open(t: TestContext, directory: string) {
	const { store } = await openTestStore(t, directory, false);
	await openKeyring({ keys: store.keys, guard: store.guard, master: Buffer.alloc(32, 9), system });
	return store;
}

/** A data directory after a start in which somebody registered. */
async function used(t: TestContext): Promise<string> {
	const directory = await makeFolder(t);
	const store = await open(t, directory);
	await addAccount(store);
	await store.close();
	return directory;
}

/** Deletes every row but those of the history of migrations. */
function emptyEveryTable(directory: string): void {
	const db = new Database(join(directory, "svc.db"));
	db.pragma("foreign_keys = OFF");
	const tables = db
		.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migration'")
		.pluck()
		.all();
	tamperWith(db, () => db.exec(tables.map((table) => `DELETE FROM ${table}`).join(";")));
	db.close();
}

const removeDatabase = (directory: string) => {
	for (const part of ["", "-wal", "-shm"]) rmSync(join(directory, `svc.db${part}`), { force: true });
};

for (const [what, empty] of [
	["emptied of every row", emptyEveryTable],
	["removed", removeDatabase],
] as const)
	test(`a database that another program ${what} is altered, not new, at this start and at later ones`, async (t) => {
		const directory = await used(t);
		empty(directory);
		for (const altered of [["all rows: the database is empty"], ["the tip"]]) {
			const store = await open(t, directory);
			assert.deepEqual(await store.health.alterations(), altered);
			await store.close();
		}
	});

test("after a first start that was cut off before anything was stored, the database is still new", async (t) => {
	const directory = await makeFolder(t);
	const { store } = await openTestStore(t, directory, false);
	await store.guard([ROW_KEY]);
	await store.close();
	assert.equal(wasAdopted(directory), false);
	const again = await open(t, directory);
	assert.deepEqual(await again.health.alterations(), []);
	assert.equal(wasAdopted(directory), true);
});
