import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { keySetOf } from "../../audit/key-parts.ts";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { auditLog } from "./audit-log.ts";
import { migrate } from "./migrate.ts";
import { openChain } from "./tip.ts";
import { keySetWrites } from "./writes/key-sets.ts";

test("a bulk read of new keys during a verification does not make the log look altered", async (t) => {
	const file = join(await makeFolder(t), "svc.db");
	const writer = new Database(file);
	t.after(() => writer.close());
	writer.pragma("journal_mode = WAL");
	migrate(writer, MADE_AT);
	const chain = openChain(writer);
	chain.append(anEvent());
	const set = keySetOf(["K"]);
	const readBulk = () =>
		keySetWrites(writer, chain.append).appendNaming(set, anEvent({ realm_id: "r", data: { key_set: set.hash } }));
	let reads = 0;
	const reader = new Database(file, {
		verbose: (sql) => {
			if (String(sql).startsWith("SELECT * FROM audit_event") && reads++ === 0) readBulk();
		},
	});
	t.after(() => reader.close());
	const { status, events } = auditLog(reader).verify([]);
	assert.deepEqual([status, events, reads > 0], ["intact", 2, true]);
});
