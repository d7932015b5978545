/* What the doctor says about a real PostgreSQL that keeps what it has answered, and about one that does not. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
	type Postgres,
	type PostgresOptions,
	REPLICATED,
	skipWithoutPostgres,
	startPostgres,
} from "../../../../../test/peers/postgres.ts";
import { checkDurability } from "../../doctor/durability.ts";
import { system } from "../../system.ts";
import { until } from "../../testing/until.ts";
import { withConnection } from "./connection.ts";
import { readDurability } from "./durability.ts";
import { runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
const KEEPS = [...REPLICATED, "fsync=on", "full_page_writes=on"];

async function start(t: TestContext, given: PostgresOptions): Promise<Postgres> {
	const postgres = await startPostgres(given);
	t.after(postgres.stop);
	return postgres;
}

/** Examines a server as the doctor does. @param user role that asks @returns the status of each check, and its message */
async function examine({ host, port, user }: Postgres, role = user, hosts = 1) {
	const address = { host, port, user: role, database: "postgres", password: "" };
	const facts = await withConnection(address, readDurability);
	const [crash, failover, connection, clock] = await checkDurability({
		durability: async () => ({ ...facts, hosts, keeps_history: true }),
		system,
	});
	assert.deepEqual([connection?.status, clock?.status], ["ok", "ok"]);
	return { crash, failover };
}

test("a database that loses answered writes in a crash fails the examination, which names why", options, async (t) => {
	const { crash, failover } = await examine(await start(t, {}));
	assert.equal(crash?.status, "failed");
	for (const setting of ["fsync", "full_page_writes", "synchronous_commit"])
		assert.ok(crash?.message.includes(setting), setting);
	assert.equal(failover?.status, "ok");
});

test(
	"a database with a synchronous standby loses nothing, and whether it has one must be visible",
	options,
	async (t) => {
		const primary = await start(t, { settings: KEEPS });
		assert.deepEqual(
			Object.values(await examine(primary)).map((check) => check?.status),
			["ok", "ok"],
		);
		await start(t, { settings: KEEPS, standby_of: { primary, name: "second" } });
		assert.equal((await examine(primary)).failover?.status, "warning");
		await runSql(primary, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'second'");
		await runSql(primary, "postgres", "SELECT pg_reload_conf()");
		await until(async () => (await examine(primary)).failover?.status === "ok");
		await runSql(primary, "postgres", "CREATE ROLE plain LOGIN");
		const hidden = (await examine(primary, "plain")).failover;
		assert.equal(hidden?.status, "warning");
		assert.match(hidden?.hint ?? "", /pg_monitor/);
		await runSql(primary, "postgres", "GRANT pg_monitor TO plain");
		assert.equal((await examine(primary, "plain")).failover?.status, "ok");
		await runSql(primary, "postgres", "ALTER ROLE plain SET synchronous_commit = local");
		assert.equal((await examine(primary, "plain")).failover?.status, "warning");
	},
);

test(
	"a database without a standby that may be reached at several hosts can lose writes in a failover",
	options,
	async (t) => {
		assert.equal((await examine(await start(t, { settings: KEEPS }), undefined, 2)).failover?.status, "warning");
	},
);
