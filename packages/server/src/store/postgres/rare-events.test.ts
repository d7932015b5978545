/* Questions about a long log on a real PostgreSQL. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { until } from "../../testing/until.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
const EVENTS = 20_000;
/** Questions after which the database may plan a statement for any values. */
const ASKED = 8;

test("events of a rare environment are found without a look at the others", options, async (t) => {
	const server = await startPostgres();
	after(() => server.stop());
	const { store, database } = await openPostgresTestStore(t, server);
	const sql = (text: string) => runSql(server, database, text);
	await sql(`INSERT INTO svc.audit_event SELECT n, '2030', 'secret.read', 'a', 'i', 'r', format('{"environment":"%s"}', name), sha256(''), NULL, NULL, NULL, name
		FROM generate_series(1000, ${1000 + EVENTS}) AS n, LATERAL (SELECT CASE WHEN n < 1003 THEN 'prod' ELSE 'dev' END) AS of (name)`);
	await sql("ANALYZE svc.audit_event");
	const uses = async (index: string) => {
		const [row] = await sql(`SELECT * FROM pg_stat_user_indexes WHERE indexrelname = '${index}'`);
		return { scans: Number(row?.idx_scan), rows: Number(row?.idx_tup_read) };
	};
	const before = await uses("audit_event_pkey");
	const query = { scopes: [{ realm_ids: ["i"] }], realm: undefined, type: undefined, actors: undefined };
	const ask = () => store.audit.list({ ...query, environment: "prod" }, undefined, 50);
	for (let asked = 0; asked < ASKED; asked++) assert.equal((await ask()).length, 3);
	// A session counts what it read with a later transaction.
	await until(async () => {
		await ask();
		return (await uses("audit_event_by_environment")).scans >= ASKED;
	});
	assert.ok((await uses("audit_event_pkey")).rows - before.rows < EVENTS / 10);
});
