import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openWriter } from "../store/sqlite/open.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { createTestLog } from "../testing/log.ts";
import { anAccount, anEvent, aSession, MADE_AT } from "../testing/rows.ts";
import { openTestStore } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { createAlterationWatch } from "./alteration.ts";

test("the next check finds an alteration, logs and records it once, and the finding stays", async (t) => {
	const { store, file } = await openTestStore(t);
	const { log, entries } = createTestLog();
	const watch = createAlterationWatch({ store, system: createTestSystem(), log });
	const start = await countEvents(store);
	await watch.checkSchema();
	assert.equal(watch.isAltered(), false);
	const otherWriter = openWriter(file);
	t.after(() => void otherWriter.close());
	otherWriter.exec("CREATE VIEW seen AS SELECT * FROM account; DROP INDEX realm_by_owner");
	// Reads of one turn see one state of the database.
	await nextTurn();
	await watch.checkSchema();
	await watch.checkSchema();
	otherWriter.exec("DROP VIEW seen");
	await watch.checkSchema();
	assert.equal(watch.isAltered(), true);
	const altered = "index realm_by_owner, view seen";
	assert.deepEqual(await eventsAfter(store, start), [["database.altered", { altered }]]);
	assert.deepEqual(
		entries().map((entry) => [entry.level, entry.event, entry.altered]),
		[["error", "database.altered", altered]],
	);
});

/** A watch over a store, and a connection that alters its file as another program does. */
async function watched(t: TestContext) {
	const { store, file } = await openTestStore(t);
	await store.accounts.dropSessions(MADE_AT);
	const otherWriter = openWriter(file);
	t.after(() => void otherWriter.close());
	const { log, entries } = createTestLog();
	const watch = createAlterationWatch({ store, system: createTestSystem(), log });
	await watch.checkIntegrity();
	assert.deepEqual([watch.isAltered(), watch.isSound()], [false, true]);
	const reports = () => entries().map(({ event, altered }) => [event, altered]);
	return { store, otherWriter, watch, reports, start: await countEvents(store) };
}

test("a row of content that another program wrote makes the server unhealthy and is recorded once; all else goes on", async (t) => {
	const { store, otherWriter, watch, reports, start } = await watched(t);
	otherWriter.pragma("foreign_keys = OFF");
	otherWriter.exec(
		"INSERT INTO secret (realm_id, environment, key, version, created_at) VALUES ('', 'dev', 'KEY', 1, '')",
	);
	await watch.checkSchema();
	assert.equal(watch.isSound(), true, "it reads no rows");
	await watch.checkIntegrity();
	await watch.checkIntegrity();
	assert.deepEqual([watch.isAltered(), watch.isSound()], [false, false]);
	const altered = "rows of secret";
	assert.deepEqual(await eventsAfter(store, start), [["rows.altered", { altered }]]);
	assert.deepEqual(reports(), [["rows.altered", altered]]);
});

test("a row of access that another program took away means that nothing is believed from the next integrity check on", async (t) => {
	const { store, otherWriter, watch, reports } = await watched(t);
	const account = anAccount();
	await store.accounts.register(account, anEvent());
	await store.accounts.openSession({ session: aSession(account.id), password: account.password }, anEvent());
	await watch.checkIntegrity();
	assert.equal(watch.isSound(), true);
	otherWriter.exec("DELETE FROM session");
	await watch.checkIntegrity();
	assert.deepEqual([watch.isAltered(), watch.isSound()], [true, false]);
	assert.deepEqual(reports(), [["database.altered", "the sum of access rows"]]);
});

test("a change that finds another program's trigger says so immediately, even when the trigger has gone since", async (t) => {
	const { store, otherWriter, watch, reports } = await watched(t);
	otherWriter.exec(
		"CREATE TRIGGER promote AFTER INSERT ON audit_event BEGIN UPDATE account SET instance_admin = 1; END",
	);
	await store.audit.append(anEvent());
	await store.altered;
	otherWriter.exec("DROP TRIGGER promote");
	await nextTurn();
	await watch.checkSchema();
	assert.equal(watch.isAltered(), true);
	assert.deepEqual(reports(), [["database.altered", "trigger promote"]]);
});

test("nothing is believed after an old note of the server about itself was put back", async (t) => {
	const { store, otherWriter, watch, reports } = await watched(t);
	const save = (lease_ms: number) => store.leases.saveClock({ lease_ms, uptime_ms: 1, boot_id: "boot" });
	await save(1);
	otherWriter.exec("CREATE TEMP TABLE kept AS SELECT * FROM main.meta WHERE name = 'lease_clock'");
	await save(2);
	otherWriter.exec("DELETE FROM main.meta WHERE name = 'lease_clock'; INSERT INTO main.meta SELECT * FROM temp.kept");
	await watch.checkIntegrity();
	assert.deepEqual([watch.isAltered(), reports()], [true, [["database.altered", "the sum of access rows"]]]);
});
