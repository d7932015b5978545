/* Servers that join and leave a database on a real PostgreSQL, and versions with another schema. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { createDatabase, type Postgres, runSql, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_nodes";

const ends = new AsyncDisposableStack();
let postgres: Postgres;
let env: Record<string, string>;
let first: Server;
let second: Server;
let admin: Person;
let path: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
	env = { SVC_DATABASE_URL: createDatabase(postgres, DATABASE) };
	first = await start();
	env = { ...env, SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	admin = await person(api(first), "admin");
	const { slug } = await realm(api(first), admin);
	await secret(api(first), admin, slug, "KEPT", "as it was");
	path = secretPath(slug, "KEPT");
});

async function start(): Promise<Server> {
	const server = await startServer({ env });
	ends.defer(server.close);
	return server;
}

const read = async (server: Server) => ok(await api(server).get<Secret>(path, { token: admin.token })).value;

type Nodes = { nodes: { address: string; status: string }[] };
const addresses = async (on: Server) =>
	ok(await api(on).get<Nodes>("/nodes", { token: admin.token })).nodes.map(({ address }) => address);

const sql = (text: string) => runSql(postgres, DATABASE, text);

test("a second server starts beside a running one, and both are listed", options, async () => {
	second = await start();
	for (const server of [first, second]) {
		assert.equal(await read(server), "as it was");
		assert.deepEqual(await addresses(server), [first.url, second.url]);
	}
});

test(
	"a stopping server is not ready, answers until the balancer has noticed, and leaves the list",
	options,
	async () => {
		await second.restart({ SVC_DRAIN_SECONDS: "3" });
		const leaving: Api = api(second);
		ok(await leaving.get("/health?ready=true"));
		process.kill(second.pid, "SIGTERM");
		await eventually("it is not ready", async () => (await leaving.get("/health?ready=true")).status === 503);
		assert.equal(await read(second), "as it was");
		assert.deepEqual(await addresses(first), [first.url, second.url]);
		assert.equal(await second.ended(), null);
		assert.deepEqual(await addresses(first), [first.url]);
		await second.restart({ SVC_DRAIN_SECONDS: "0" });
		assert.equal((await addresses(first)).length, 2);
	},
);

/** Makes the database what the version before the last migration left. */
const BEFORE = `DROP INDEX svc.audit_event_by_environment, svc.audit_event_of_two_environments; DELETE FROM svc.migration WHERE name = '0014-audit-environments'`;

test("a server does not change the schema while others run, and does when they have ended", options, async () => {
	await second.stop();
	sql(BEFORE);
	await assert.rejects(second.restart(), /ended with exit code 78 .*earlier version.*stop them all/s);
	assert.equal(await read(first), "as it was");
	await first.stop();
	await Promise.all([second.restart(), first.restart()]);
	for (const server of [first, second]) assert.equal(await read(server), "as it was");
});

test("a server whose schema was changed while it was cut off ends", options, async () => {
	sql("INSERT INTO svc.migration (name, hash, applied_at) VALUES ('9999-later', '', '')");
	sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
	for (const server of [first, second]) {
		assert.equal(await server.ended(), null);
		assert.match(server.stderr(), /another version of svc has changed the database's schema/);
	}
});
