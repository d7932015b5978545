import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openWriter } from "../store/sqlite/open.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { createTestLog } from "../testing/log.ts";
import { openTestStore } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { createAlterationWatch } from "./alteration.ts";

test("the next check finds an alteration, logs and records it once, and the finding stays", async (t) => {
	const { store, file } = await openTestStore(t);
	const { log, entries } = createTestLog();
	const watch = createAlterationWatch({ store, system: createTestSystem(), log });
	const start = await countEvents(store);
	await watch.look();
	assert.equal(watch.isAltered(), false);
	const aside = openWriter(file);
	t.after(() => void aside.close());
	aside.exec("CREATE VIEW seen AS SELECT * FROM account; DROP INDEX realm_by_owner");
	// Reads of one turn see one state of the database.
	await nextTurn();
	await watch.look();
	await watch.look();
	aside.exec("DROP VIEW seen");
	await watch.look();
	assert.equal(watch.isAltered(), true);
	const altered = "index realm_by_owner, view seen";
	assert.deepEqual(await eventsAfter(store, start), [["database.altered", { altered }]]);
	assert.deepEqual(
		entries().map((entry) => [entry.level, entry.event, entry.altered]),
		[["error", "database.altered", altered]],
	);
});
