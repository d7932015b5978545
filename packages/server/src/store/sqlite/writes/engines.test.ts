import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { createRowMacs, rowTextOf } from "../../../crypto/row-macs.ts";
import { aConfig, anEvent, MADE_AT, newId, purgeable } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { openTestStore, ROW_KEY } from "../../../testing/store.ts";

const { store, file } = await openTestStore({ after });
const { engines } = store;
const owner = await addAccount(store);

test("a realm stays a former realm until a configuration names others, unless the rule keeps it", async () => {
	const [kept, dropped] = [await addRealm(store, owner), await addRealm(store, owner)];
	const db = new Database(file);
	const insert = db.prepare("INSERT INTO engine_former_realm (engine, realm_id, mac) VALUES (?, ?, ?)");
	const macs = createRowMacs([ROW_KEY], randomBytes);
	const [engine, sharing] = ["engine", "engine-with-a-part"];
	for (const type of [engine, sharing])
		for (const { id } of [kept, dropped]) insert.run(type, id, macs.make(rowTextOf("engine_former_realm", [type, id])));
	db.close();
	const former = async () => (await engines.formerRealms()).map(({ engine: type, realm_id }) => [type, realm_id]);
	assert.equal(await engines.isFormer(engine, kept.id), true);
	assert.equal(await engines.isFormer(engine, newId()), false);
	await engines.setConfig(aConfig({ engine, realm_id: kept.id }), anEvent());
	assert.equal(await engines.isFormer(engine, kept.id), true, "its own says nothing of the others");
	for (const type of [engine, sharing])
		await engines.setConfig(aConfig({ engine: type }), anEvent(), [kept.id], type === sharing);
	assert.deepEqual(await former(), [[sharing, kept.id]]);
	await engines.setConfig(aConfig({ engine: sharing }), anEvent(), ["*"], true);
	await engines.removeConfig({ engine: sharing, realm_id: "" }, anEvent(), true);
	assert.deepEqual(await former(), [[sharing, kept.id]]);
	await store.realms.remove({ id: kept.id, deleted_at: MADE_AT }, anEvent());
	assert.deepEqual([await former(), await engines.isFormer(sharing, kept.id)], [[], true], "it may be restored");
	await engines.keepGenerated(aConfig({ engine: sharing, realm_id: kept.id, state: "generated" }), anEvent());
	await store.realms.purge(purgeable(kept.id), anEvent());
	assert.equal(await engines.isFormer(sharing, kept.id), false);
	assert.equal(await engines.config(sharing, kept.id, "generated"), undefined);
});
