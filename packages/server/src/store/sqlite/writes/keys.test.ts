import assert from "node:assert/strict";
import { test } from "node:test";
import { countEvents } from "../../../testing/events.ts";
import { aKey, anEvent } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { openTestStore } from "../../../testing/store.ts";
import { openWriter } from "../open.ts";

test("a store that has a realm or a key but no fingerprint is never given a fresh keyring", async (t) => {
	const { store, file } = await openTestStore(t);
	await addRealm(store, await addAccount(store));
	// Empties the table, as somebody with a database tool might.
	const tool = openWriter(file);
	tool.exec("DELETE FROM keyring");
	tool.close();
	const start = await countEvents(store);
	assert.equal(await store.keys.initialize({ fingerprint: "fp", keys: [aKey("")] }, anEvent()), "exists");
	assert.deepEqual([await store.keys.fingerprint(), await countEvents(store)], [undefined, start]);
	const { store: other } = await openTestStore(t);
	await other.keys.rotate({ key: aKey("") }, anEvent());
	assert.equal(await other.keys.initialize({ fingerprint: "fp", keys: [] }, anEvent()), "exists");
	assert.equal(await other.keys.fingerprint(), undefined);
});
