import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { openKeyring } from "../../crypto/keyring.ts";
import { importMaster, newKeyRow, unwrapKey } from "../../crypto/wrap.ts";
import { FatalError } from "../../errors.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import { makeFolder, openTestStore } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";
import { type AdoptionKeys, adoptRows, isBeforeMacs, wasAdopted } from "./adopt.ts";
import { createMigrationList } from "./migrate.ts";
import { ROW_MACS } from "./migrations/0012-row-macs.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openSqliteStore } from "./store.ts";

const system = createTestSystem();
const MASTER = importMaster(Buffer.alloc(32, 9));

/** Makes the first key of rows, as an adoption does. */
const newKeys = (): AdoptionKeys => {
	const added = newKeyRow(MASTER, "rows", "", system);
	return { keys: [{ id: added.id, bytes: unwrapKey(MASTER, added) ?? assert.fail("no key") }], added };
};

/** A database of the release before, with an account and a session. */
async function older(t: TestContext): Promise<{ directory: string; file: string }> {
	const directory = await makeFolder(t);
	const file = join(directory, "svc.db");
	const db = new Database(file);
	createMigrationList(db);
	for (const { name, sql } of MIGRATIONS.slice(0, MIGRATIONS.indexOf(ROW_MACS))) {
		db.exec(sql);
		db.prepare("INSERT INTO migration VALUES (?, ?, '')").run(name, hash("sha256", sql));
	}
	db.exec(`INSERT INTO account VALUES ('ada', 'ada@example.com', 'Ada', 'a hash', 1, NULL, '');
		INSERT INTO session (jti, user_id, created_at, expires_at) VALUES ('j', 'ada', '2030', '2031');
		INSERT INTO keyring VALUES (x'0102030405060708', 'session', '', 'active', zeroblob(73), '')`);
	db.close();
	return { directory, file };
}

test("a database from before is refused at a start, which names the way, and is believed once it was adopted", async (t) => {
	const { directory, file } = await older(t);
	assert.equal(isBeforeMacs(file), true);
	await assert.rejects(
		openSqliteStore({ directory, now: new Date(MADE_AT), onFailure: () => undefined }),
		(error) => error instanceof FatalError && error.exitCode === 78 && /`svc adopt`/.test(error.message),
	);
	const keys = newKeys();
	assert.equal(
		adoptRows(file, () => keys, anEvent({ type: "rows.adopted" })),
		4,
	);
	assert.equal(isBeforeMacs(file), false);
	const { store } = await openTestStore(t, directory, false);
	await store.guard(keys.keys);
	assert.deepEqual(await store.health.alterations(), []);
	assert.equal((await store.accounts.byEmail("ada@example.com"))?.instance_admin, true);
	assert.equal((await store.accounts.sessionOwner("j", "ada", "2030-06"))?.user_id, "ada");
	const recorded = await eventsAfter(store, 0);
	assert.deepEqual(
		recorded.map(([type, { table }]) => [type, table]),
		["account", "session", "keyring"].map((table) => ["rows.adopted", table]),
	);
	const { differences, named_from } = await store.audit.compare();
	assert.deepEqual([differences.map(({ kind }) => kind), named_from?.seq], [["account"], 1]);
	await store.audit.append(anEvent());
	await store.close();
	const again = await openTestStore(t, directory, false);
	await again.store.guard(keys.keys);
	assert.deepEqual(await again.store.health.alterations(), []);
	assert.ok(wasAdopted(directory), "its rows were found sound");
	assert.equal(await countEvents(again.store), 4);
});

test("an adoption that fails leaves the rows as they were, and can be done again", async (t) => {
	const { file } = await older(t);
	const failing = () => {
		throw new Error("the master key is another one");
	};
	assert.throws(() => adoptRows(file, failing, anEvent()), /another one/);
	const keys = newKeys();
	assert.equal(
		adoptRows(file, () => keys, anEvent({ type: "rows.adopted" })),
		4,
	);
});

test("a store whose rows were forged while it was closed believes nothing from its keyring's first integrity check on", async (t) => {
	const opened = await openTestStore(t, undefined, false);
	const { store, file, directory } = opened;
	const master = () => Buffer.alloc(32, 9);
	await openKeyring({ keys: store.keys, guard: store.guard, master: master(), system });
	assert.deepEqual(await store.health.alterations(), []);
	await store.close();
	const db = new Database(file);
	db.exec("INSERT INTO account VALUES ('eve', 'eve@example.com', 'Eve', 'a hash', 1, NULL, '', NULL)");
	db.close();
	const again = await openTestStore(t, directory, false);
	await openKeyring({ keys: again.store.keys, guard: again.store.guard, master: master(), system });
	assert.deepEqual(await again.store.health.alterations(), ["rows of account"]);
	assert.equal(await again.store.accounts.byEmail("eve@example.com"), undefined);
});
