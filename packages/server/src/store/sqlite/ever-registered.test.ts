import assert from "node:assert/strict";
import { test } from "node:test";
import { anAccount, anEvent } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import { emptyTables, openTestStore } from "../../testing/store.ts";

test("after all accounts were deleted from the file, no registration makes a first account again", async (t) => {
	const opened = await openTestStore(t);
	assert.equal(await opened.store.accounts.hadAny(), false);
	await addAccount(opened.store);
	await opened.store.close();
	emptyTables(opened, ["account"]);
	const { store } = await openTestStore(t, opened.directory);
	assert.equal(await store.accounts.hadAny(), true);
	const newcomer = anAccount();
	assert.deepEqual(await store.accounts.register({ ...newcomer, only_first: true }, anEvent()), {
		outcome: "not_first",
	});
	assert.deepEqual(await store.accounts.register(newcomer, anEvent()), { outcome: "done", first: false, left_out: [] });
	assert.notEqual((await store.accounts.byId(newcomer.id))?.instance_admin, true);
});
