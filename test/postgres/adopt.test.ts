/* Commands on the database of a stopped server, on a real PostgreSQL: adopt and recover. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { createDatabase, type Postgres, runSql, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_adopted";
/** Finding after an adoption: rows are believed, and yet the log did not grant two rights. */
const granted = { status: "altered", log: "intact", misfits: [], kinds: ["account", "binding"] };
const PASSWORD = "a password that was set again";

const ends = new AsyncDisposableStack();
let postgres: Postgres;
let env: Record<string, string>;
let server: Server;
let client: Api;
let root: Person;
let ada: Person;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
	env = { SVC_DATABASE_URL: createDatabase(postgres, DATABASE) };
	server = await startServer({ env });
	ends.defer(server.close);
	client = api(server);
	root = await person(client, "root");
	ada = await person(client, "ada");
	({ slug } = await realm(client, root));
	await bind(client, root, slug, ada, "viewer");
	await secret(client, root, slug, "KEPT", "as it was");
});

const run = (...words: string[]) => runLocal(server.data, words, env);
const sql = (text: string) => runSql(postgres, DATABASE, text);

async function restart(): Promise<void> {
	await server.restart();
	client = api(server);
}

/** Looks at the database: its status, what does not fit, and the kinds of rows that the log did not grant. */
async function look() {
	const { stdout, stderr } = await run("adopt", "--look", "--json");
	const { status, log, misfits, differences } = JSON.parse(stdout || assert.fail(stderr));
	return { status, log: log.status, misfits, kinds: differences.map(({ kind }: { kind: string }) => kind) };
}

async function failing(words: string[], says: RegExp, more: Record<string, string> = {}): Promise<void> {
	const { code, stdout, stderr } = await runLocal(server.data, words, { ...env, ...more });
	assert.equal(code, 1, stderr);
	assert.equal(stdout, "");
	assert.match(stderr, says);
}

test("a running server keeps its database: adopt and recover are refused", options, async () => {
	for (const words of [
		["adopt", "--again", "--yes"],
		["recover", root.email, "--yes"],
	])
		await failing(words, /\banother svc server\b/);
	await server.stop();
});

test("a database without data of svc is refused, and nothing is made in it", options, async () => {
	const empty = { SVC_DATABASE_URL: createDatabase(postgres, "svc_nothing") };
	await failing(["adopt", "--again", "--yes"], /holds nothing/, empty);
	await failing(["adopt", "--look"], /holds nothing/, empty);
	await failing(["recover", root.email, "--yes"], /lacks changes/, empty);
	assert.equal(runSql(postgres, "svc_nothing", "SELECT count(*) FROM pg_namespace WHERE nspname = 'svc'"), "0");
});

test("a database that nobody altered is sound, and is not adopted without --again", options, async () => {
	const { code, stdout, stderr } = await run("adopt", "--look", "--json");
	assert.equal(code, 0, stderr);
	assert.equal(JSON.parse(stdout).status, "sound");
	await failing(["adopt", "--yes"], /--again\b/);
	assert.equal(existsSync(join(server.data, "svc.db.adopting")), false);
});

test("a sound database stays sound when it is adopted again", options, async () => {
	const { code, stderr } = await run("adopt", "--again", "--yes");
	assert.equal(code, 0, stderr);
	assert.doesNotMatch(stderr, /not as|strange/);
	assert.equal((await look()).status, "sound");
});

test(
	"what another program altered is named by --look, refused by a start, and believed after --again",
	options,
	async () => {
		sql(`UPDATE svc.account SET instance_admin = true WHERE email = '${ada.email}'; UPDATE svc.binding SET role = 'admin';
		UPDATE svc.realm SET bytes = 0; DELETE FROM svc.session; SELECT setval('svc.secret_id', 1)`);
		const found = await look();
		assert.equal(found.status, "altered");
		for (const table of ["account", "binding"]) {
			assert.ok(found.misfits.includes(`rows of ${table}`), table);
			assert.ok(found.kinds.includes(table), table);
		}
		await failing(["recover", root.email, "--yes"], /another program altered postgres:\S+@/);
		await server.restart();
		client = api(server);
		refused(await client.post("/auth/login", { email: root.email, password: root.password }), 503);
		await server.stop();

		const { code, stdout, stderr } = await run("adopt", "--again", "--yes");
		assert.equal(code, 0, stderr);
		assert.match(stderr, new RegExp(`^instance admin ${ada.email}`, "m"));
		const [, backup = ""] = /^backup +(\S+)$/m.exec(stdout) ?? [];
		assert.ok(existsSync(join(server.data, "backups", backup)), stdout);
		assert.deepEqual(await look(), granted);

		await restart();
		[root, ada] = [
			{ ...root, token: await login(client, root) },
			{ ...ada, token: await login(client, ada) },
		];
		ok(await client.get("/users", { token: ada.token }));
		assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEPT"), { token: root.token })).value, "as it was");
		await secret(client, root, slug, "NEW", "since");
		const [recorded] = await events(client, root, "type=rows.adopted");
		assert.deepEqual([recorded?.data.again, recorded?.data.backup], [true, backup]);
		await server.stop();
	},
);

test("a schema that another program altered is not adopted", options, async () => {
	sql("CREATE VIEW svc.spy AS SELECT 1");
	await failing(["adopt", "--again", "--yes"], /schema was altered .*\bspy\b/);
	sql("DROP VIEW svc.spy");
});

test(
	"the only instance admins, whose passwords are lost, are recovered; the database stays believed",
	options,
	async () => {
		const { code, stdout, stderr } = await run("recover", root.email, "--yes");
		assert.equal(code, 0, stderr);
		assert.match(
			stderr,
			new RegExp(`^database +postgres://${postgres.user}@127\\.0\\.0\\.1:${postgres.port}/${DATABASE}$`, "m"),
		);
		await failing(["recover", "nobody@example.test", "--yes"], /\bno account\b/);
		assert.deepEqual(await look(), granted);
		await restart();
		ok(await client.post("/auth/reset", { email: root.email, code: stdout.trim(), new_password: PASSWORD }));
		root = { ...root, token: await login(client, { email: root.email, password: PASSWORD }) };
		const [recorded] = await events(client, root, "type=user.recovered");
		assert.deepEqual([recorded?.actor, recorded?.data.user_id], ["system", root.id]);
	},
);
