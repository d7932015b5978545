/* One server whose data is on a real PostgreSQL. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { addressOf, createDatabase, type Postgres, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";
import { startProxy } from "../peers/proxy.ts";

const options = { skip: skipWithoutPostgres };
/** sysexits EX_CONFIG: a service manager does not try again. */
const REFUSED = /ended with exit code 78 /;

const ends = new AsyncDisposableStack();
let postgres: Postgres;
let env: Record<string, string>;
let server: Server;
let client: Api;
let admin: Person;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	// What was answered outlives a crash.
	postgres = await startPostgres({ settings: ["synchronous_commit=on"] });
	ends.defer(postgres.stop);
	env = { SVC_DATABASE_URL: createDatabase(postgres, "svc_one") };
	server = await startServer({ env });
	ends.defer(server.close);
	client = api(server);
	admin = await person(client, "admin");
	({ slug } = await realm(client, admin));
	await secret(client, admin, slug, "KEPT", "as it was");
});

const read = async (to = client, token = admin.token) =>
	ok(await to.get<Secret>(secretPath(slug, "KEPT"), { token })).value;

test(
	"health and doctor say that the data is on PostgreSQL, and nothing is in the data directory",
	options,
	async () => {
		const { store } = ok(await client.get<{ store: object }>("/health"));
		assert.deepEqual(store, { type: "postgresql", status: "healthy" });
		const query = "/doctor?deep=true";
		const { checks } = ok(
			await client.get<{ checks: { name: string; status: string }[] }>(query, { token: admin.token }),
		);
		const names = ["database", "durability", "rows", "audit", "rights", "sealed"];
		const found = checks.filter(({ name }) => names.includes(name));
		assert.deepEqual(
			found.map(({ name, status }) => [name, status]),
			[
				["database", "ok"],
				// The test's role is a superuser.
				["database", "warning"],
				// It keeps nothing in a crash of the machine.
				["durability", "failed"],
				["durability", "ok"],
				["database", "ok"],
				...names.slice(2).map((name) => [name, "ok"]),
			],
		);
		assert.equal(existsSync(join(server.data, "svc.db")), false);
	},
);

test("acknowledged writes survive a stop and a kill", options, async () => {
	await server.restart();
	assert.equal(await read(), "as it was");
	await server.kill("SIGKILL");
	const examined = join(server.data, "svc.db.examined-0123456789abcdef");
	writeFileSync(examined, "a copy that a doctor left behind");
	await server.restart();
	assert.equal(existsSync(examined), false);
	assert.equal(await read(), "as it was");
});

test("while PostgreSQL is away requests get 503, and the server works again when it is back", options, async () => {
	const path = `/realms/${slug}/secrets`;
	const write = (value: string) =>
		client.post<Secret>(path, { key: "WRITTEN", value, environment: "dev" }, { token: admin.token });
	ok(await write("before"), 201);
	const { pid } = server;
	await postgres.crash();
	const answers = [await write("lost"), await client.get(secretPath(slug, "KEPT"), { token: admin.token })];
	for (const answer of answers) {
		refused(answer, 503, "store_unavailable");
		assert.ok(Number(answer.headers["retry-after"]) > 0);
	}
	type State = { status: string; checks: { database: string }; store: { status: string; since?: string } };
	const sick = await client.get<State>("/health");
	assert.equal(sick.status, 503);
	assert.equal(sick.body.checks.database, "unhealthy");
	assert.equal(sick.body.store.status, "away");
	assert.ok(sick.body.store.since);
	assert.equal((await client.get("/health?ready=true")).status, 503);
	await postgres.start();
	await eventually("it is healthy again", async () => (await client.get("/health")).status === 200);
	assert.equal(server.pid, pid);
	assert.equal(await read(), "as it was");
	assert.equal(ok(await write("after"), 201).version, 2);
});

test("a backup goes into SQLite with its values", options, async () => {
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	const backup = join(server.data, "backups", name);
	const other = await startServer();
	await using _ = { [Symbol.asyncDispose]: () => other.close() };
	await other.stop();
	copyFileSync(join(server.data, "master.key"), join(other.data, "master.key"));
	const { code, stderr } = await runLocal(other.data, ["restore", backup, "--replace", "--yes"]);
	assert.equal(code, 0, stderr);
	await other.restart();
	const to = api(other);
	assert.equal(await read(to, await login(to, admin)), "as it was");
});

test("a data directory with a database of SQLite is not left unused", options, async () => {
	await server.stop();
	const file = join(server.data, "svc.db");
	writeFileSync(file, "", { mode: 0o600 });
	await assert.rejects(server.restart(), REFUSED);
});

test("a database that PostgreSQL does not have is refused", options, async () => {
	await assert.rejects(startServer({ env: { SVC_DATABASE_URL: addressOf(postgres, "none") } }), REFUSED);
});

test("a start waits for a PostgreSQL that does not answer yet", options, async () => {
	createDatabase(postgres, "svc_late");
	const proxy = await startProxy(postgres.port);
	ends.defer(proxy.stop);
	proxy.refuse();
	const starting = startServer({ env: { SVC_DATABASE_URL: addressOf({ ...postgres, port: proxy.port }, "svc_late") } });
	starting.catch(() => undefined);
	await eventually("it tries again", () => proxy.accepted() >= 2);
	proxy.restore();
	const late = await starting;
	await using _ = { [Symbol.asyncDispose]: () => late.close() };
	ok(await api(late).get("/health"));
});
