/* A store whose database fails over from a real PostgreSQL to its standby. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Postgres, REPLICATED, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { anEvent } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import { closedOnce, makeFolder, ROW_KEY } from "../../testing/store.ts";
import { until } from "../../testing/until.ts";
import type { Store } from "../store.ts";
import { openPostgresStore } from "./store.ts";
import { runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };

/** Starts a primary and a standby of it, which stop after the test. */
async function startPair(t: TestContext): Promise<{ primary: Postgres; standby: Postgres }> {
	const primary = await startPostgres({ settings: REPLICATED });
	t.after(primary.stop);
	const standby = await startPostgres({ settings: REPLICATED, standby_of: { primary, name: "second" } });
	t.after(standby.stop);
	return { primary, standby };
}

/** Opens a store that may reach its database at several hosts. @param history_file keeps its history from one opening to the next */
async function open(t: TestContext, hosts: readonly Postgres[], history_file?: string): Promise<Store> {
	const opened = await openPostgresStore({
		addresses: () => hosts.map(({ host, port, user }) => ({ host, port, user, database: "postgres", password: "" })),
		...(history_file !== undefined && { history_file }),
		now: new Date("2030-01-01T00:00:00Z"),
		isShared: true,
		onFailure: (failure) => assert.fail(failure),
	});
	const store = closedOnce(opened);
	t.after(() => store.close());
	await opened.guard([ROW_KEY]);
	return store;
}

/** Waits until a standby has all that its primary has written. */
async function catchUp(primary: Postgres, standby: Postgres): Promise<void> {
	const [end] = await runSql(primary, "postgres", "SELECT pg_current_wal_lsn()::text AS at");
	const question = `SELECT pg_last_wal_replay_lsn() >= '${end?.at}'::pg_lsn AS has_all`;
	await until(async () => (await runSql(standby, "postgres", question))[0]?.has_all === true);
}

const promote = (standby: Postgres) => runSql(standby, "postgres", "SELECT pg_promote()");

const events = async (store: Store) => (await store.audit.head()).events;

test(
	"a store goes on with the promoted standby, and not with the old primary when that is back",
	options,
	async (t) => {
		const { primary, standby } = await startPair(t);
		const store = await open(t, [standby, primary]);
		const { id } = await addAccount(store);
		await catchUp(primary, standby);
		await primary.crash();
		await until(() => store.state().reason === "standby");
		await promote(standby);
		await until(() => store.state().status === "healthy");
		assert.equal((await store.accounts.byId(id))?.id, id);
		await store.audit.append(anEvent());
		await standby.crash();
		await primary.start();
		await until(() => store.state().reason === "old_primary");
		await assert.rejects(store.audit.append(anEvent()), { code: "store_unavailable" });
		await standby.start();
		await until(() => store.state().status === "healthy");
		await store.audit.append(anEvent());
	},
);

test(
	"changes that a failover lost are noticed, also by a store that opens later, until they are accepted",
	options,
	async (t) => {
		const { primary, standby } = await startPair(t);
		const file = join(await makeFolder(t), "history");
		const store = await open(t, [primary, standby], file);
		await store.audit.append(anEvent());
		await catchUp(primary, standby);
		await standby.crash();
		await store.audit.append(anEvent());
		const seen = await events(store);
		await until(() => existsSync(file) && JSON.parse(readFileSync(file, "utf8")).seq === seen);
		await primary.crash();
		await standby.start();
		await promote(standby);
		await until(() => store.state().reason === "lost_answers");
		await assert.rejects(store.audit.append(anEvent()), { code: "store_unavailable" });
		await store.close();
		await assert.rejects(open(t, [primary, standby], file), { reason: "lost_answers" });
		// A server that has seen nothing of it has no file.
		const other = await open(t, [standby]);
		assert.equal(await events(other), seen - 1);
		await other.health.acceptLoss(new Date().toISOString(), anEvent());
		const again = await open(t, [primary, standby], file);
		await again.audit.append(anEvent());
		assert.equal(await events(again), seen + 1);
	},
);
