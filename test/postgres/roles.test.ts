/* A server whose role in a real PostgreSQL has only the rights that it needs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, login, machine, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import {
	addressOf,
	createDatabase,
	type Postgres,
	runSql,
	skipWithoutPostgres,
	startPostgres,
} from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_least";
const [OWNER, SERVER] = ["svc_owner", "svc_server"];

const ends = new AsyncDisposableStack();
let postgres: Postgres;
let server: Server;
let client: Api;
let admin: Person;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
	createDatabase(postgres, DATABASE);
	await applyRoles(DATABASE);
});

/** Runs what `svc database roles` prints, twice. */
async function applyRoles(database: string): Promise<void> {
	const { code, stdout, stderr } = await runLocal("/", ["database", "roles"]);
	assert.equal(code, 0, stderr);
	for (let times = 0; times < 2; times++) runSql(postgres, database, stdout);
}

const as = (user: string, database = DATABASE) => ({
	SVC_DATABASE_URL: addressOf({ ...postgres, user }, database),
});
const sqlAs = (user: string, text: string) => runSql({ ...postgres, user }, DATABASE, text);

/** Reads the doctor's findings about the database. */
async function findings(): Promise<[status: string, message: string][]> {
	type Found = { checks: { name: string; status: string; message: string }[] };
	const { checks } = ok(await client.get<Found>("/doctor?deep=true", { token: admin.token }));
	return checks
		.filter(({ name }) => ["database", "rows", "audit", "rights", "sealed"].includes(name))
		.map(({ status, message }) => [status, message]);
}

test("migrations are the owner's: the server names the command, which makes them once", options, async () => {
	await assert.rejects(startServer({ env: as(SERVER) }), /exit code 78 [\s\S]*`svc database migrate`/);
	for (const made of [/^migrations made +[1-9]\d*$/m, /^migrations made +0$/m]) {
		const { code, stdout, stderr } = await runLocal("/", ["database", "migrate"], as(OWNER));
		assert.equal(code, 0, stderr);
		assert.match(stdout, made);
	}
});

test("a server with the least rights does all its work", options, async () => {
	server = await startServer({ env: as(SERVER) });
	ends.defer(server.close);
	client = api(server);
	admin = await person(client, "admin");
	const other = await person(client, "other");
	({ slug } = await realm(client, admin));
	await bind(client, admin, slug, other, "viewer");
	for (const value of ["before", "as it was"]) await secret(client, admin, slug, "KEPT", value);
	await secret(client, admin, slug, "GONE", "a slip");
	ok(await client.delete(`${secretPath(slug, "GONE")}?env=dev`, { token: admin.token }));
	await apiToken(client, admin, undefined);
	await machine(client, admin, slug);
	ok(await client.get(`/realms/${slug}/secrets?env=dev`, { token: admin.token }));
	ok(await client.post("/backups", undefined, { token: admin.token }), 201);
	const verified = ok(await client.get<{ status: string }>("/audit/verify", { token: admin.token }));
	assert.equal(verified.status, "intact");
	await server.restart();
	client = api(server);
	assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEPT"), { token: admin.token })).value, "as it was");
	assert.deepEqual(new Set((await findings()).map(([status]) => status)), new Set(["ok"]));
});

test("its role can add to the log and not change it, and makes, alters and empties nothing", options, async () => {
	const rights = sqlAs(
		SERVER,
		`SELECT relname || ' ' || string_agg(privilege, ' ' ORDER BY privilege) FROM pg_class,
			unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege
			WHERE relnamespace = 'svc'::regnamespace AND relkind = 'r' AND has_table_privilege(oid, privilege) GROUP BY relname ORDER BY 1`,
	).split("\n");
	const expected = rights.map((line) => {
		const [table = ""] = line.split(" ");
		if (table === "migration") return "migration SELECT";
		return `${table} ${/^(audit_|tip$)/.test(table) ? "INSERT SELECT" : "DELETE INSERT SELECT UPDATE"}`;
	});
	assert.deepEqual(rights, expected);
	assert.ok(rights.length > 30, String(rights.length));
	for (const statement of [
		"UPDATE svc.audit_event SET actor = 'x'",
		"DELETE FROM svc.tip",
		"SELECT 1 FROM svc.audit_event FOR UPDATE",
		"TRUNCATE svc.secret CASCADE",
		"INSERT INTO svc.migration VALUES ('9', '9', '9')",
		"ALTER TABLE svc.audit_event DISABLE TRIGGER audit_event_stays",
		"ALTER TABLE svc.secret ADD COLUMN more text",
		"CREATE INDEX more ON svc.secret (key)",
		"DROP TABLE svc.secret",
		"CREATE TABLE svc.more ()",
		"CREATE TABLE public.more ()",
		"CREATE SCHEMA more",
		"CREATE ROLE more",
		`SET ROLE ${OWNER}`,
		"SET session_replication_role = replica",
		"SELECT setval('svc.secret_id', 1)",
	])
		assert.throws(() => sqlAs(SERVER, statement), /permission denied|must be owner/, statement);
});

test("a database from before the roles keeps its data under them", options, async () => {
	const before = { SVC_DATABASE_URL: createDatabase(postgres, "svc_before") };
	const old = await startServer({ env: before });
	ends.defer(old.close);
	client = api(old);
	admin = await person(client, "admin");
	({ slug } = await realm(client, admin));
	await secret(client, admin, slug, "KEPT", "as it was");
	const warned = (await findings()).filter(([status]) => status === "warning");
	assert.match(String(warned), /superuser/);
	await old.stop();
	await applyRoles("svc_before");
	await old.restart(as(SERVER, "svc_before"));
	client = api(old);
	assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEPT"), { token: admin.token })).value, "as it was");
	assert.deepEqual(new Set((await findings()).map(([status]) => status)), new Set(["ok"]));
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	await old.stop();

	// A restore makes the tables, too: it is for the owner.
	createDatabase(postgres, "svc_restored");
	await applyRoles("svc_restored");
	const restore = (user: string) =>
		runLocal(old.data, ["restore", join(old.data, "backups", name), "--yes"], as(user, "svc_restored"));
	const refused = await restore(SERVER);
	assert.equal(refused.code, 1);
	assert.match(refused.stderr, /\bowns the tables\b/);
	const { code, stderr } = await restore(OWNER);
	assert.equal(code, 0, stderr);
	await old.restart(as(SERVER, "svc_restored"));
	client = api(old);
	admin = { ...admin, token: await login(client, admin) };
	assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEPT"), { token: admin.token })).value, "as it was");
	await secret(client, admin, slug, "NEW", "since");
});

test("names that the script would have to escape are refused", options, async () => {
	for (const words of [
		["--owner", "a'b"],
		["--server", "svc_owner"],
	]) {
		const { code, stdout } = await runLocal("/", ["database", "roles", ...words]);
		assert.deepEqual([code, stdout], [2, ""]);
	}
});
