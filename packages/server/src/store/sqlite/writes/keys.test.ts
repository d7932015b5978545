import assert from "node:assert/strict";
import { test } from "node:test";
import { openKeyring } from "../../../crypto/keyring.ts";
import { FatalError } from "../../../errors.ts";
import { system } from "../../../system.ts";
import { countEvents } from "../../../testing/events.ts";
import { insertOf, TABLES } from "../../../testing/guarded-rows.ts";
import { aBinding, aKey, anEvent } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { openTestStore } from "../../../testing/store.ts";
import { tamperWith } from "../../../testing/tamper.ts";
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

test("a store that has a row of any table is never given a fresh keyring", async (t) => {
	const { store, file } = await openTestStore(t);
	const tool = openWriter(file);
	t.after(() => tool.close());
	for (const pragma of ["foreign_keys = OFF", "ignore_check_constraints = ON"]) tool.pragma(pragma);
	for (const table of TABLES) {
		tool.exec(insertOf(tool, table, 1));
		assert.equal(await store.keys.initialize({ fingerprint: "fp", keys: [aKey("")] }, anEvent()), "exists", table);
		tool.exec(`DELETE FROM ${table}`);
	}
});

/** Tables that another program empties so that a database looks new. */
const EMPTIED = ["keyring", "meta", "tip", "audit_event", "audit_checkpoint"];

for (const more of [["realm"], ["realm", "account"]]) {
	const emptied = [...EMPTIED, ...more];

	test(`no key for rows is made again after another program emptied ${emptied.join(", ")}`, async (t) => {
		const master = Buffer.alloc(32, 1);
		const { store, file, directory } = await openTestStore(t, undefined, false);
		await openKeyring({ keys: store.keys, guard: store.guard, master: Buffer.from(master), system });
		const realm = await addRealm(store, await addAccount(store));
		await store.policy.bind(aBinding(realm.id, (await addAccount(store)).id), anEvent());
		await store.close();
		const tool = openWriter(file);
		t.after(() => tool.close());
		tool.pragma("foreign_keys = OFF");
		tamperWith(tool, () => tool.exec(emptied.map((table) => `DELETE FROM ${table}`).join(";")));
		const { store: again } = await openTestStore(t, directory, false);
		const opening = openKeyring({ keys: again.keys, guard: again.guard, master: Buffer.from(master), system });
		await assert.rejects(
			opening,
			(error) => error instanceof FatalError && /no keyring to open it/.test(error.message),
		);
		const left = "SELECT 1 FROM keyring UNION ALL SELECT 1 FROM audit_event UNION ALL SELECT 1 FROM tip";
		assert.deepEqual(tool.prepare(left).all(), []);
	});
}
