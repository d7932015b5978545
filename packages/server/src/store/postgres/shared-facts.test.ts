/* Facts of minutes that two servers of one database share on a real PostgreSQL. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
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
