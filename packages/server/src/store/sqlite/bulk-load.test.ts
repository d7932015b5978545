import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { areBlocksSound } from "./audit-block-check.ts";
import { BLOCK } from "./audit-blocks.ts";
import { beginBulkLoad } from "./bulk-load.ts";
import { openReader } from "./open.ts";

test("a log that is loaded has all of its blocks", async () => {
	const file = join(await makeFolder({ after }), "loaded.db");
	writeFileSync(file, "");
	const load = beginBulkLoad(file, MADE_AT);
	for (let seq = 1; seq < 20 * BLOCK + 9; seq++) {
		const event = { ...anEvent(), seq, data: "{}", hash: Buffer.alloc(32) };
		load.add("audit_event", event);
	}
	load.finish();
	load.close();
	const db = openReader(file, "long");
	assert.equal(db.prepare("SELECT count(*) FROM audit_block").pluck().get(), 20);
	assert.ok(areBlocksSound(db));
	db.close();
});
