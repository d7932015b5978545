/* What becomes of questions and changes when connections to a real PostgreSQL are cut. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { startProxy } from "../../../../../test/peers/proxy.ts";
import { AppError } from "../../errors.ts";
import { anAccount, anEvent } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import { until } from "../../testing/until.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Opens a store behind a proxy, with an account. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const running = await server;
	const proxy = await startProxy(running.port);
	const through = { ...running, port: proxy.port };
	const database = await newDatabase(running);
	const { store } = await openPostgresTestStore(t, through, database);
	t.after(() => proxy.stop());
	const { id } = await addAccount(store);
	const count = async (where: string) =>
		Number((await runSql(running, database, `SELECT count(*) AS n FROM svc.${where}`))[0]?.n);
	return {
		store,
		server: running,
		database,
		proxy,
		id,
		count,
		runSql: (text: string) => runSql(running, database, text),
	};
}

let made = 0;

async function newDatabase(running: Postgres): Promise<string> {
	const name = `svc_lossy_${++made}`;
	await runSql(running, "postgres", `CREATE DATABASE ${name}`);
	return name;
}

/** Asks again while the database is away. */
async function again<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
	for (;;) {
		try {
			return await ask();
		} catch (error) {
			if (!isAway(error)) throw error;
			await pause(5);
		}
	}
}

const isAway = (error: unknown) =>
	error instanceof AppError && error.code === "store_unavailable" && Number(error.headers["Retry-After"]) > 0;

test("a committed change whose answer was lost is reported as made, once", options, async (t) => {
	const { store, proxy, count } = await setUp(t);
	const account = anAccount();
	proxy.mute("COMMIT");
	const registering = store.accounts.register(account, anEvent());
	await until(async () => (await count(`account WHERE id = '${account.id}'`)) === 1);
	proxy.reset();
	assert.equal((await registering).outcome, "done");
	assert.equal(await count(`account WHERE id = '${account.id}'`), 1);
	await until(() => store.state().status === "healthy");
	assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
});

test("a committed event whose answer was lost is in the log once", options, async (t) => {
	const { store, proxy, count } = await setUp(t);
	const before = await count("audit_event");
	proxy.mute("COMMIT");
	const appending = store.audit.append(anEvent());
	await until(async () => (await count("audit_event")) === before + 1);
	proxy.reset();
	await appending;
	assert.equal(await count("audit_event"), before + 1);
});

test("a change whose commit never arrived is reported as not made", options, async (t) => {
	const { store, proxy, count } = await setUp(t);
	const account = anAccount();
	const held = proxy.hold("COMMIT");
	const registering = store.accounts.register(account, anEvent());
	await held.caught;
	proxy.reset();
	await assert.rejects(registering, isAway);
	assert.equal(await count(`account WHERE id = '${account.id}'`), 0);
	await again(() => store.accounts.register(account, anEvent()));
	assert.deepEqual(await again(() => store.checkIntegrity()), { access: [], content: [] });
});

test("while the database is away questions and changes are refused, and then answered again", options, async (t) => {
	const { store, proxy, id } = await setUp(t);
	assert.equal(store.state().status, "healthy");
	proxy.refuse();
	await until(() => store.state().status === "away");
	assert.ok(store.state().since);
	await assert.rejects(async () => store.accounts.byId(id), isAway);
	await assert.rejects(store.audit.append(anEvent()), isAway);
	assert.equal(await store.isWritable(new Date()), false);
	proxy.restore();
	await until(() => store.state().status === "healthy");
	assert.equal((await store.accounts.byId(id))?.id, id);
	await store.audit.append(anEvent());
	assert.equal(await store.isWritable(new Date()), true);
});

test("questions under way when the connections are cut are refused, not lost", options, async (t) => {
	const { store, proxy, id } = await setUp(t);
	const asked = Array.from({ length: 50 }, async () => store.accounts.byId(id));
	proxy.reset();
	for (const answer of await Promise.allSettled(asked))
		assert.ok(answer.status === "rejected" ? isAway(answer.reason) : answer.value?.id === id);
	assert.equal((await again(async () => store.accounts.byId(id)))?.id, id);
});

/** Attempts of all connections of a store, each of which has tried at least once. */
const ATTEMPTS = 20;

/** Takes the last event and its tip away: the database is as before the last change. */
const CUT = `SET session_replication_role = replica;
	DELETE FROM svc.audit_event WHERE seq = (SELECT max(seq) FROM svc.audit_event);
	DELETE FROM svc.tip WHERE id = (SELECT max(id) FROM svc.tip)`;

test("a database that lost answered changes is not used until the loss was accepted", options, async (t) => {
	const { store, server, database, proxy, id, runSql } = await setUp(t);
	await store.audit.append(anEvent());
	await runSql(CUT);
	proxy.reset();
	await until(() => store.state().reason === "lost_answers");
	await runSql(
		"INSERT INTO svc.meta (name, value, mac) VALUES ('loss_accepted', '2031-01-01T00:00:00.000Z', 'forged')",
	);
	const tried = proxy.accepted();
	await until(() => proxy.accepted() >= tried + ATTEMPTS);
	assert.equal(store.state().reason, "lost_answers");
	await runSql("DELETE FROM svc.meta WHERE name = 'loss_accepted'");
	await assert.rejects(async () => store.accounts.byId(id), isAway);
	await assert.rejects(store.audit.append(anEvent()), isAway);
	const { store: other } = await openPostgresTestStore(t, server, database);
	await other.health.acceptLoss(new Date().toISOString(), anEvent());
	await until(() => store.state().status === "healthy");
	assert.equal(store.state().reason, undefined);
	assert.equal((await store.accounts.byId(id))?.id, id);
	await store.audit.append(anEvent());
});
