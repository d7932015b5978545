import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { openKeyring } from "../../crypto/keyring.ts";
import { anEvent } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import { makeFolder, openTestStore } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";

const system = createTestSystem();

const PROMOTE = "CREATE TRIGGER promote AFTER INSERT ON audit_event BEGIN UPDATE account SET instance_admin = 1; END";

test("what another program's trigger writes in the server's transactions gets no MAC, also after it is gone", async (t) => {
	const directory = await makeFolder(t);
	const open = async () => {
		const { store } = await openTestStore(t, directory, false);
		await openKeyring({ keys: store.keys, guard: store.guard, master: Buffer.alloc(32, 9), system });
		return store;
	};
	const alter = (sql: string) => {
		const db = new Database(join(directory, "svc.db"));
		db.exec(sql);
		db.close();
	};
	const first = await open();
	const { id } = await addAccount(first);
	await first.close();
	alter(PROMOTE);
	const second = await open();
	assert.deepEqual(await second.health.alterations(), ["trigger promote"]);
	await second.audit.append(anEvent());
	await second.close();
	alter("DROP TRIGGER promote");
	const third = await open();
	assert.deepEqual(await third.health.alterations(), [
		"the end of the audit log",
		"the sum of access rows",
		"rows of account",
	]);
	assert.equal(await third.accounts.byId(id), undefined);
});
