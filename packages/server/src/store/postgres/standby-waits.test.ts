/* What becomes of changes whose wait for a synchronous standby is cancelled, on a real PostgreSQL whose standby is not there. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { type Postgres, REPLICATED, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { AppError } from "../../errors.ts";
import { anAccount, anEvent } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import { until } from "../../testing/until.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Sets the standby that each commit waits for. */
async function waitFor(postgres: Postgres, name: string): Promise<void> {
	await runSql(postgres, "postgres", `ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
	await runSql(postgres, "postgres", "SELECT pg_reload_conf()");
	const shown = async () =>
		Object.values((await runSql(postgres, "postgres", "SHOW synchronous_standby_names"))[0] ?? {});
	await until(async () => (await shown())[0] === name);
}

/** Opens a store with an account, then makes each commit wait for a standby that is not there. */
async function setUp(t: TestContext) {
	server ??= startPostgres({ settings: REPLICATED });
	const postgres = await server;
	const { store } = await openPostgresTestStore(t, postgres);
	const { id } = await addAccount(store);
	t.after(() => waitFor(postgres, ""));
	await waitFor(postgres, "nobody");
	const waiting = async () => {
		const rows = await runSql(postgres, "postgres", "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
		return rows.map(({ pid }) => Number(pid));
	};
	/** Cancels the wait of the connection that waits. @returns its process */
	const cancel = async (other?: number) => {
		let pid: number | undefined;
		await until(async () => {
			[pid] = await waiting();
			return pid !== undefined && pid !== other;
		});
		await runSql(postgres, "postgres", `SELECT pg_cancel_backend(${pid})`);
		return pid;
	};
	return { store, id, postgres, waiting, cancel };
}

test(
	"a change whose wait was cancelled is answered when a standby has confirmed what came after it",
	options,
	async (t) => {
		const { store, postgres, cancel, waiting } = await setUp(t);
		const account = anAccount();
		let isAnswered = false;
		const registering = store.accounts.register(account, anEvent()).finally(() => {
			isAnswered = true;
		});
		await cancel();
		// The question whether it was made waits, too.
		await until(async () => (await waiting()).length > 0);
		assert.equal(isAnswered, false);
		await waitFor(postgres, "");
		assert.equal((await registering).outcome, "done");
		assert.equal((await store.accounts.byId(account.id))?.id, account.id);
		assert.equal(store.state().status, "healthy");
	},
);

test("a change whose waits were all cancelled is answered as unknown", options, async (t) => {
	const { store, postgres, cancel } = await setUp(t);
	const account = anAccount();
	const registering = store.accounts.register(account, anEvent());
	const refused = assert.rejects(
		registering,
		(error) => error instanceof AppError && error.code === "store_unavailable" && /may or may not/.test(error.message),
	);
	const isOver = refused.then(() => true);
	while (!(await Promise.race([isOver, cancel().then(() => false)]))) {}
	await refused;
	await waitFor(postgres, "");
	await store.audit.append(anEvent());
});
