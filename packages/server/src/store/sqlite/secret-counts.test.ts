import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";

/** A realm with 1,001 secrets, one of them in prod. */
async function setUp(t: Parameters<typeof openTestStore>[0]) {
	const { store, file } = await openTestStore(t);
	const { id } = await addRealm(store, await addAccount(store));
	const otherWriter = openWriter(file);
	otherWriter.exec(`INSERT INTO secret (realm_id, environment, key, version, created_at)
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		SELECT '${id}', iif(i = 1000, 'prod', 'dev'), 'KEY_' || i, 1, '' FROM n`);
	otherWriter.close();
	return { secrets: store.secrets, id };
}

test("the secrets of a large realm are counted by the reading thread: others are answered meanwhile", async (t) => {
	const { secrets, id } = await setUp(t);
	const order: unknown[] = [];
	const counted = (async () => order.push(await secrets.count(id, undefined)))();
	await secrets.version(id, "dev", "NONE", 1);
	await null;
	order.push("read");
	await counted;
	assert.deepEqual(order, ["read", 1001]);
});

test("a small number of secrets is counted without a thread", async (t) => {
	const { secrets, id } = await setUp(t);
	const order: unknown[] = [];
	const next = nextTurn().then(() => order.push("turn"));
	for (const environment of ["dev", "prod", "test"] as const) order.push(await secrets.count(id, environment));
	await next;
	assert.deepEqual(order, [1000, 1, 0, "turn"]);
});
