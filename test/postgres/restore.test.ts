/* The way from SQLite to PostgreSQL and back: backups of one store restored into the other. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { connect } from "../../packages/server/src/store/postgres/connection.ts";
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts";
import { COPIED_TABLES } from "../../packages/server/src/store/postgres/sqlite-copy.ts";
import { openRawRows } from "../../packages/server/src/store/sqlite/raw-rows.ts";
import { digestOf } from "../../packages/server/src/testing/crossing-rows.ts";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok } from "../harness/expect.ts";
import {
	apiToken,
	bind,
	invitation,
	login,
	machine,
	machineToken,
	type Person,
	person,
	realm,
	secret,
	secretPath,
} from "../harness/fixtures.ts";
import { PROGRAM } from "../harness/program.ts";
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
/** Tables of what ends with a restore, and the one that says that there was one. */
const ENDED = ["session", "reset_code", "invitation", "invitation_binding", "recovery_codes", "meta"];
const TABLES = COPIED_TABLES.filter((table) => !ENDED.includes(table));
const DATABASE = "svc_moved";

const ends = new AsyncDisposableStack();
let postgres: Postgres;
let server: Server;
let client: Api;
let admin: Person;
let slug: string;
/** A backup that was made on SQLite. */
let backup: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
	server = await startServer();
	ends.defer(server.close);
	client = api(server);
	admin = await person(client, "admin");
	const other = await person(client, "other");
	({ slug } = await realm(client, admin));
	await bind(client, admin, slug, other, "viewer");
	for (const value of ["before", "as it was"]) await secret(client, admin, slug, "KEPT", value);
	await secret(client, admin, slug, "DELETED", "a slip");
	ok(await client.delete(`${secretPath(slug, "DELETED")}?env=dev`, { token: admin.token }));
	await invitation(client, admin, { bindings: [{ realm: slug, role: "viewer" }] });
	await apiToken(client, admin, undefined);
	const { name } = await machine(client, admin, slug);
	await machineToken(client, admin, slug, name);
	backup = await makeBackup();
	await server.stop();
});

async function makeBackup(): Promise<string> {
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	return join(server.data, "backups", name);
}

/** Describes every row and value of a file. */
function rowsOf(file: string): Record<string, string> {
	const rows = openRawRows(file);
	try {
		return Object.fromEntries(TABLES.map((table) => [table, digestOf(rows.columnsOf(table), [...rows.rowsOf(table)])]));
	} finally {
		rows.close();
	}
}

/** Describes every row and value of the database, by the columns of a file. */
async function rowsOnPostgres(file: string): Promise<Record<string, string>> {
	const { host, port, user } = postgres;
	const connection = await connect({ host, port, user, database: DATABASE, password: "" });
	const source = openRawRows(file);
	try {
		const found: Record<string, string> = {};
		for (const table of TABLES) {
			const columns = source.columnsOf(table);
			found[table] = digestOf(columns, await connection.rows(`SELECT ${columns.join(", ")} FROM ${table}`));
		}
		return found;
	} finally {
		source.close();
		await connection.close();
	}
}

const restore = (url: string, ...words: string[]) =>
	runLocal(server.data, ["restore", backup, "--yes", ...words], { SVC_DATABASE_URL: url });

async function expectIntact(api: Api, token: string): Promise<void> {
	const verified = ok(
		await api.get<{ status: string; differences: unknown[]; strange: unknown[] }>("/audit/verify", { token }),
	);
	assert.deepEqual([verified.status, verified.differences, verified.strange], ["intact", [], []]);
}

test(
	"killed in the middle of a restore, the database holds nothing, and the restore can be run again",
	options,
	async () => {
		const url = createDatabase(postgres, "svc_killed");
		const { host, port, user } = postgres;
		const holder = await connect({ host, port, user, database: "svc_killed", password: "" });
		ends.defer(holder.close);
		await migrate(holder, "2030-01-01T00:00:00.000Z");
		await holder.script("BEGIN; LOCK TABLE svc.meta IN SHARE MODE");
		const child = spawn(PROGRAM.file, [...PROGRAM.arguments, "restore", backup, "--yes", "--replace"], {
			env: {
				PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
				HOME: server.data,
				...PROGRAM.environment,
				SVC_DATA_DIR: server.data,
				SVC_DATABASE_URL: url,
			},
			stdio: "ignore",
		});
		const ended = once(child, "close");
		// Accounts and realms are there by then, for that transaction alone.
		const waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'svc.meta'::regclass";
		await eventually("it waits", () => runSql(postgres, "svc_killed", waiting) === "1" || child.exitCode !== null);
		child.kill("SIGKILL");
		assert.deepEqual(await ended, [null, "SIGKILL"]);
		await holder.script("ROLLBACK");
		const others = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'svc_killed' AND pid <> pg_backend_pid()";
		await eventually("the holder is alone", () => runSql(postgres, "svc_killed", others) === "1");
		assert.equal(runSql(postgres, "svc_killed", "SELECT count(*) FROM svc.account"), "0");
		assert.ok(existsSync(join(server.data, "svc.db")), "SQLite's database is still in place");
		// The data directory goes on with SQLite, and has nothing left of it.
		const { code, stderr } = await restore(url);
		assert.equal(code, 1);
		assert.match(stderr, /--replace\b/);
		assert.equal(existsSync(join(server.data, "svc.db.restoring")), false);
		await holder.close();
		const again = await runLocal(server.data, ["restore", backup, "--yes", "--replace"], { SVC_DATABASE_URL: url });
		assert.equal(again.code, 0, again.stderr);
	},
);

test("a backup of SQLite fills an empty PostgreSQL, every row and value as it was", options, async () => {
	const url = createDatabase(postgres, DATABASE);
	const { code, stdout, stderr } = await restore(url);
	assert.equal(code, 0, stderr);
	assert.match(stdout, new RegExp(`^into +${url.replace(/[/.]/g, "\\$&")}$`, "m"));
	assert.deepEqual(await rowsOnPostgres(backup), rowsOf(backup));
	const names = readdirSync(server.data).filter((name) => name.startsWith("svc.db"));
	assert.deepEqual(
		names.filter((name) => !/^svc\.db\.before-\w+(-\w+)?$/.test(name)),
		[],
	);
});

test("a database that is not empty is refused, and so is one that a server uses", options, async () => {
	const url = addressOf(postgres, DATABASE);
	const { code, stderr } = await restore(url, "--replace");
	assert.equal(code, 1);
	assert.match(stderr, /\bnot empty\b.*\bDROP SCHEMA\b/);
	assert.deepEqual(await rowsOnPostgres(backup), rowsOf(backup));
});

test("a server continues on PostgreSQL: values, history, deleted secrets, tokens, log", options, async () => {
	await server.restart({ SVC_DATABASE_URL: addressOf(postgres, DATABASE) });
	client = api(server);
	admin = { ...admin, token: await login(client, admin) };
	assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEPT"), { token: admin.token })).value, "as it was");
	ok(await client.post(`${secretPath(slug, "DELETED")}/restore?env=dev`, {}, { token: admin.token }));
	const recorded = await events(client, admin, "type=backup.restored");
	assert.deepEqual(
		recorded.map(({ data }) => data.epoch),
		[1],
	);
	await expectIntact(client, admin.token);
	const other = await runLocal(server.data, ["restore", backup, "--yes"], {
		SVC_DATABASE_URL: addressOf(postgres, DATABASE),
	});
	assert.equal(other.code, 1);
	assert.match(other.stderr, /\banother svc server\b/);
});

test(
	"a backup of PostgreSQL fills SQLite, every row and value as it was, and a server continues there",
	options,
	async () => {
		ok(
			await client.post(
				`/realms/${slug}/secrets`,
				{ key: "NEW", value: "since", environment: "dev" },
				{ token: admin.token },
			),
			201,
		);
		const made = await makeBackup();
		const back = await startServer();
		await using _ = { [Symbol.asyncDispose]: () => back.close() };
		await back.stop();
		copyFileSync(join(server.data, "master.key"), join(back.data, "master.key"));
		const { code, stderr } = await runLocal(back.data, ["restore", made, "--replace", "--yes"]);
		assert.equal(code, 0, stderr);
		assert.deepEqual(rowsOf(join(back.data, "svc.db")), rowsOf(made));
		await back.restart();
		const there = api(back);
		const token = await login(there, admin);
		for (const [key, value] of [
			["KEPT", "as it was"],
			["NEW", "since"],
		] as const)
			assert.equal(ok(await there.get<Secret>(secretPath(slug, key), { token })).value, value);
		await expectIntact(there, token);
		const recorded = await events(there, { ...admin, token }, "type=backup.restored");
		assert.equal(recorded.length, 2);
	},
);
