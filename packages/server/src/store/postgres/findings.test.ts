/* Alterations that one of two servers finds, which share one database of a real PostgreSQL. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { createAlterationWatch } from "../../health/alteration.ts";
import { createTestLog } from "../../testing/log.ts";
import { anEvent, MADE_AT, newId, reportNoKeys } from "../../testing/rows.ts";
import { createTestSystem } from "../../testing/system.ts";
import type { Store } from "../store.ts";
import { openPostgresTestPair, openPostgresTestStore } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

const join = (store: Store) =>
	store.join({ id: newId(), name: "n", version: "0.1.0", address: "https://n", started_at: MADE_AT }, reportNoKeys);

/** Opens two stores on a new database, as servers do. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const postgres = await server;
	const pair = await openPostgresTestPair(t, postgres);
	await pair.here.audit.append(anEvent());
	for (const store of [pair.here, pair.there]) await join(store);
	const [{ current_database: database } = {}] = await pair.runSql("SELECT current_database()");
	return { ...pair, open: async () => (await openPostgresTestStore(t, postgres, String(database))).store };
}

const watchOf = (store: Store) =>
	createAlterationWatch({ store, system: createTestSystem(), log: createTestLog().log });

test("what one server finds altered is refused by the other, also when it is gone", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	const [watch, other] = [watchOf(here), watchOf(there)];
	await runSql("CREATE VIEW svc.spy AS SELECT 1 AS one");
	await watch.checkSchema();
	await runSql("DROP VIEW svc.spy");
	await there.altered;
	await other.checkSchema();
	assert.deepEqual([watch.isAltered(), other.isAltered()], [true, true]);
	const names = await Promise.all([here, there].map(async (store) => (await store.health.alterations()).toSorted()));
	assert.deepEqual(names[1], names[0]);
});

test("a change reads with the tip what another server has found", options, async (t) => {
	const { there, runSql } = await setUp(t);
	await runSql("INSERT INTO svc.alteration (node_id, found) SELECT id, 'rows of account' FROM svc.node LIMIT 1");
	await there.audit.append(anEvent());
	assert.deepEqual(await there.health.alterations(), ["rows of account"]);
});

test("a change that finds an alteration tells the other server", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	await runSql("DELETE FROM svc.tip WHERE id = (SELECT max(id) FROM svc.tip)");
	await here.audit.append(anEvent());
	await there.altered;
	assert.deepEqual(await there.health.alterations(), ["the tip"]);
});

test("a server that starts learns what others know, and nothing when all have ended", options, async (t) => {
	const { here, there, runSql, open } = await setUp(t);
	await here.reportAltered(["relation spy"]);
	await there.altered;
	await here.close();
	const third = await open();
	await third.altered;
	assert.deepEqual(await third.health.alterations(), ["relation spy"]);
	await third.close();
	await there.close();
	const later = await open();
	assert.deepEqual(await later.health.alterations(), []);
	assert.deepEqual(await runSql("SELECT FROM svc.alteration"), []);
	assert.deepEqual(await later.checkIntegrity(), { access: [], content: [] });
});
