import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { until } from "../../testing/until.ts";
import { connect } from "./connection.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

test("no statement, lock or transaction of a connection lasts without an end", options, async (t) => {
	server ??= startPostgres();
	const { host, port, user } = await server;
	const connection = await connect({ host, port, user, database: "postgres", password: "" });
	t.after(() => connection.close());
	for (const [name, value] of [
		["lock_timeout", "10s"],
		["statement_timeout", "25s"],
		["idle_in_transaction_session_timeout", "30s"],
	] as const)
		assert.deepEqual(await connection.rows(`SHOW ${name}`), [{ [name]: value }]);
});

test("a statement that the database ends is answered as unavailable, and the next one works", options, async (t) => {
	server ??= startPostgres();
	const running = await server;
	const { store, database } = await openPostgresTestStore(t, running);
	const realm = await addRealm(store, await addAccount(store));
	await store.secrets.set(aVersion(realm.id, "KEY"), anEvent());
	const { host, port, user } = running;
	const holder = await connect({ host, port, user, database, password: "" });
	t.after(() => holder.close());
	await holder.script("BEGIN; LOCK TABLE svc.secret IN ACCESS EXCLUSIVE MODE");
	const asked = Promise.allSettled([
		store.secrets.get(realm.id, "dev", "KEY"),
		store.secrets.set(aVersion(realm.id, "OTHER"), anEvent()),
	]);
	// As statement_timeout does.
	const cancel = "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'svc.secret'::regclass";
	let ended = 0;
	await until(async () => {
		ended += (await runSql(running, database, cancel)).length;
		return ended >= 2;
	});
	for (const answer of await asked) {
		const { code, status, headers } = answer.status === "rejected" ? answer.reason : assert.fail("it was answered");
		assert.deepEqual([code, status, headers], ["store_unavailable", 503, { "Retry-After": "1" }]);
	}
	await holder.script("ROLLBACK");
	await store.secrets.set(aVersion(realm.id, "OTHER"), anEvent());
	assert.equal(await store.isWritable(new Date()), true);
});
