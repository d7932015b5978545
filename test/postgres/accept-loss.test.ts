/* Two servers whose real PostgreSQL has lost what one of them has answered, until `svc nodes accept-loss`. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { createDatabase, type Postgres, runSql, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_lost";

const ends = new AsyncDisposableStack();
let postgres: Postgres;
let env: Record<string, string>;
let first: Server;
let second: Server;
let admin: Person;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
	env = { SVC_DATABASE_URL: createDatabase(postgres, DATABASE) };
	first = await start();
	env = { ...env, SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	second = await start();
	admin = await person(api(first), "admin");
	({ slug } = await realm(api(first), admin));
	await secret(api(first), admin, slug, "KEPT", "as it was");
});

async function start(): Promise<Server> {
	const server = await startServer({ env });
	ends.defer(server.close);
	return server;
}

type Health = { status: string; store: { status: string; reason?: string } };
const state = async (server: Server) => (await api(server).get<Health>("/health")).body.store;
const events = () => Number(sql("SELECT max(seq) FROM svc.audit_event"));
const sql = (text: string) => runSql(postgres, DATABASE, text);

/** Reads the end of the log that a server has kept. */
function seenBy(server: Server): number {
	const file = join(server.data, "database.history");
	return existsSync(file) ? Number(JSON.parse(readFileSync(file, "utf8")).seq) : 0;
}

/** Puts the database back to an earlier state, as a standby that was behind has it. */
function putBack(earlier: string): void {
	runSql(postgres, "postgres", `DROP DATABASE ${DATABASE} WITH (FORCE)`);
	runSql(postgres, "postgres", `CREATE DATABASE ${DATABASE} TEMPLATE ${earlier}`);
}

/** Copies the database, whose servers reconnect afterwards. */
async function keepAs(name: string): Promise<void> {
	const run = (text: string) => runSql(postgres, "postgres", text);
	run(`ALTER DATABASE ${DATABASE} ALLOW_CONNECTIONS false`);
	run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${DATABASE}'`);
	run(`CREATE DATABASE ${name} TEMPLATE ${DATABASE}`);
	run(`ALTER DATABASE ${DATABASE} ALLOW_CONNECTIONS true`);
	for (const server of [first, second])
		await eventually("it is back", async () => (await state(server)).status === "healthy");
}

const accept = (server: Server) => runLocal(server.data, ["nodes", "accept-loss", "--yes", "--json"], env);

test("nothing is accepted while nothing is lost", options, async () => {
	const { code, stderr } = await accept(first);
	assert.equal(code, 1, stderr);
});

test(
	"a loss is refused by every server that has seen it, also at its start, and accepted for all",
	options,
	async () => {
		await keepAs("svc_earlier");
		await secret(api(first), admin, slug, "LOST", "answered");
		const seen = events();
		for (const server of [first, second]) await eventually("it has seen it", () => seenBy(server) >= seen);
		putBack("svc_earlier");
		for (const server of [first, second]) {
			await eventually("it says why", async () => (await state(server)).reason === "lost_answers");
			refused(await api(server).get(secretPath(slug, "KEPT"), { token: admin.token }), 503, "store_unavailable");
			assert.equal((await api(server).get("/health?ready=true")).status, 503);
		}
		const { code, stdout, stderr } = await accept(second);
		assert.equal(code, 0, stderr);
		const accepted = JSON.parse(stdout);
		assert.equal(accepted.reason, "lost_answers");
		assert.ok(accepted.seen.seq > accepted.found.seq);
		for (const server of [first, second]) {
			await eventually("it goes on", async () => (await state(server)).status === "healthy");
			ok(await api(server).get(secretPath(slug, "KEPT"), { token: admin.token }));
			refused(await api(server).get(secretPath(slug, "LOST"), { token: admin.token }), 404, "not_found");
		}
		assert.equal(sql("SELECT count(*) FROM svc.audit_event WHERE type = 'database.loss_accepted'"), "1");
	},
);

test("a database that was put back to before the acceptance is refused again", options, async () => {
	const seen = events();
	for (const server of [first, second]) await eventually("it has seen it", () => seenBy(server) >= seen);
	await first.stop();
	putBack("svc_earlier");
	await eventually("it says why", async () => (await state(second)).reason === "lost_answers");
	const again = first.restart();
	again.catch(() => undefined);
	await eventually("it waits", () => /database lacks changes that were answered/.test(first.stderr()));
	const { code, stderr } = await accept(second);
	assert.equal(code, 0, stderr);
	await again;
	await eventually("it goes on", async () => (await state(second)).status === "healthy");
	ok(await api(first).get(secretPath(slug, "KEPT"), { token: admin.token }));
});

test("a restored database is used by every server, whatever it has seen before", options, async () => {
	const { name } = ok(await api(first).post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	await secret(api(first), admin, slug, "LATER", "than the backup");
	const seen = events();
	for (const server of [first, second]) await eventually("it has seen it", () => seenBy(server) >= seen);
	await Promise.all([first.stop(), second.stop()]);
	runSql(postgres, "postgres", `DROP DATABASE ${DATABASE}`);
	createDatabase(postgres, DATABASE);
	const { code, stderr } = await runLocal(first.data, ["restore", join(first.data, "backups", name), "--yes"], env);
	assert.equal(code, 0, stderr);
	await first.restart();
	await second.restart();
	const token = await login(api(first), admin);
	ok(await api(second).get(secretPath(slug, "KEPT"), { token }));
	refused(await api(second).get(secretPath(slug, "LATER"), { token }), 404, "not_found");
});
