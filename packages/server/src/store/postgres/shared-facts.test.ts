/* Short-lived facts that two servers of one database share on a real PostgreSQL. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { MAX_ATTEMPT_NAMES } from "../../attempts/model.ts";
import { newId } from "../../testing/rows.ts";
import { OTHER_TABLES, ROW_KINDS } from "../row-kinds.ts";
import { SHARED_TABLES } from "./shared-tables.ts";
import { openPostgresTestPair } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

async function setUp(t: TestContext) {
	server ??= startPostgres();
	return openPostgresTestPair(t, await server);
}

const aDigest = () => hash("sha256", newId(), "buffer");

test("each table of the schema has rows with MACs, or a reason why they have none", options, async (t) => {
	const { runSql } = await setUp(t);
	const tables = await runSql("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'svc'");
	const declared = [ROW_KINDS, OTHER_TABLES, SHARED_TABLES].flatMap((table) => Object.keys(table));
	assert.deepEqual(
		tables.map(({ name }) => name).filter((name) => !declared.includes(String(name))),
		[],
	);
	const signed = await runSql(
		"SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'svc' AND column_name = 'mac'",
	);
	assert.deepEqual(new Set(signed.map(({ name }) => name)), new Set(Object.keys(ROW_KINDS)));
});

test("a challenge is used on one of two servers, and its mark has a MAC", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	const challenge = { digest: aDigest(), user_id: "ada", until_ms: 2000 };
	const outcomes = await Promise.all(
		[here, there, here, there].map((store) => store.factors.useChallenge(challenge, 1000)),
	);
	assert.deepEqual(outcomes.map((one) => one === "done").filter(Boolean), [true]);
	assert.deepEqual(await there.factors.countChallenges(1000), { all: 1, of_account: 1 });
	assert.deepEqual(await here.checkIntegrity(), { access: [], content: [] });
	await runSql("DELETE FROM svc.sso_used");
	assert.deepEqual((await there.checkIntegrity()).access, ["the sum of access rows"]);
});

test(
	"failures at two servers are counted together, and no row makes anybody wait longer than a server would",
	options,
	async (t) => {
		const { here, there, runSql } = await setUp(t);
		const failures = [{ name: "account ada", backoff: { free: 10, first_ms: 60_000, doubles_every: 1 } }];
		const fail = (store: typeof here) => store.attempts.add("strangers", failures);
		const waitAt = async (store: typeof here) =>
			(await store.attempts.get("strangers", ["account ada"]))[0]?.wait_ms ?? 0;
		await Promise.all(Array.from({ length: 9 }, (_, index) => fail(index % 2 === 0 ? here : there)));
		assert.deepEqual([await waitAt(here), await waitAt(there)], [0, 0]);
		assert.deepEqual(await fail(here), [10]);
		for (const store of [here, there]) assert.ok((await waitAt(store)) > 0);
		await runSql("UPDATE svc.attempt SET waits_until = 'infinity'");
		assert.equal(await waitAt(there), 0);
		await runSql("DELETE FROM svc.attempt");
		assert.equal(await waitAt(there), 0);
		for (let count = 0; count < 6; count++) await fail(there);
		assert.ok((await waitAt(there)) > 0, "each counts its own, too");
	},
);

test("names that neither count nor wait go, and so do the oldest of too many", options, async (t) => {
	const { here, runSql } = await setUp(t);
	const add = (names: string, ends: string, waits = "'-infinity'") =>
		runSql(
			`INSERT INTO svc.attempt SELECT 'causes', name, 1, clock_timestamp() + interval '${ends}', ${waits} FROM ${names} AS names`,
		);
	const numbered = (prefix: string, count: number) =>
		`(SELECT '${prefix} ' || n AS name FROM generate_series(1, ${count}) AS n)`;
	await add(numbered("over", 10), "-1 s");
	await add(numbered("old", 1), "1 s", "clock_timestamp() + interval '1 min'");
	await add(numbered("full", MAX_ATTEMPT_NAMES), "1 min");
	await here.attempts.add(
		"causes",
		Array.from({ length: 1024 }, (_, index) => ({ name: `late ${index}` })),
	);
	const left = await runSql("SELECT split_part(name, ' ', 1) AS name, count(*) AS count FROM svc.attempt GROUP BY 1");
	assert.deepEqual(Object.fromEntries(left.map(({ name, count }) => [name, Number(count)])), {
		...{ late: 1024, old: 1, full: MAX_ATTEMPT_NAMES - 1025 },
	});
});
