import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assertRefusal, refusedStart } from "../faults/process.ts";
import { api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { runLocal } from "./local.ts";
import { makeOlder } from "./older.ts";

const scratch = mkdtempSync(join(tmpdir(), "svc-migration-"));

let server: Server;
let admin: Person;
let slug: string;
/** Newest migration of the data directory: the last before rows had MACs. */
let migration: string;
/** The data directory as the previous release left it. */
const older = join(scratch, "older");

before(async () => {
	server = await startServer();
	const client = api(server);
	admin = await person(client, "admin");
	({ slug } = await realm(client, admin));
	await secret(client, admin, slug, "KEPT", "as it was");
	await server.stop();
	migration = makeOlder(join(server.data, "svc.db"));
	cpSync(server.data, older, { recursive: true, preserveTimestamps: true });
});
after(async () => {
	await server.close();
	rmSync(scratch, { recursive: true });
});

/** Copies the data directory of the previous release. */
function copyOf(title: string): string {
	const data = join(scratch, title);
	cpSync(older, data, { recursive: true, preserveTimestamps: true });
	chmodSync(data, 0o700);
	return data;
}

const backupsIn = (data: string) => readdirSync(join(data, "backups")).sort();

const adopt = (data: string, ...options: string[]) => runLocal(data, ["adopt", "--yes", ...options]);

/** Refuses a start over the schema of before, and adopts it. */
async function refusedThenAdopted(data: string, ...options: string[]): Promise<void> {
	assertRefusal(await refusedStart({ data }), /\bfrom before\b.*`svc adopt/);
	const { code, stderr } = await adopt(data, ...options);
	assert.equal(code, 0, stderr);
}

test("before a database is adopted and migrated there is a backup of it that is sound, and the log records it", async () => {
	await refusedThenAdopted(server.data);
	await server.restart();
	const client = api(server);
	const [name = "", ...more] = backupsIn(server.data);
	assert.deepEqual(more, []);
	assert.match(name, /^before-adoption-\d{8}T\d{9}Z\.db$/);
	const { code, stdout } = await runLocal(server.data, [
		"backup",
		"verify",
		join(server.data, "backups", name),
		"--json",
	]);
	assert.equal(code, 0);
	assert.equal(JSON.parse(stdout).schema, migration);
	const adopted = (await events(client, admin, "type=rows.adopted")).map(({ data }) => data);
	assert.ok(adopted.some(({ table }) => table === "account"));
	for (const { backup, again } of adopted) assert.deepEqual([backup, again], [name, false]);
	const { value } = ok(await client.get<Secret>(`${secretPath(slug, "KEPT")}?env=dev`, { token: admin.token }));
	assert.equal(value, "as it was");
});

test("a start that has nothing to migrate makes no backup", async () => {
	await server.restart();
	assert.equal(backupsIn(server.data).length, 1);
	assert.ok(!readdirSync(older).includes("backups"), "nor does the first start of all");
});

test("an adopted database is adopted a second time only on request", async () => {
	await server.stop();
	const { code, stderr } = await adopt(server.data);
	assert.equal(code, 1);
	assert.match(stderr, /--again\b/);
	await server.restart();
});

test("the backup of an older schema can be restored, and adopted again", async () => {
	const [name = ""] = backupsIn(server.data);
	const data = server.data;
	await server.stop();
	const { code, stderr } = await runLocal(data, ["restore", join(data, "backups", name), "--replace", "--yes"]);
	assert.equal(code, 0, stderr);
	const once = await adopt(data);
	assert.match(once.stderr, /--again\b/);
	await refusedThenAdopted(data, "--again");
	await server.restart();
	const { body } = await api(server).get<{ status: string }>("/health");
	assert.equal(body.status, "healthy");
	assert.equal(backupsIn(data).length, 2);
});

test("a database from before in the place of one that a server believed is adopted only when that is asked for", async () => {
	const data = copyOf("exchanged");
	writeFileSync(join(data, "adopted"), "");
	assertRefusal(await refusedStart({ data }), /`svc adopt --again`/);
	assert.match((await adopt(data)).stderr, /--again\b/);
});

test("when the backup cannot be made nothing is adopted: the refusal says what to do", async () => {
	const data = copyOf("blocked");
	writeFileSync(join(data, "backups"), "a file in the way");
	assert.match((await adopt(data)).stderr, /\bbackup\.directory\b/);
	rmSync(join(data, "backups"));
	rmSync(join(data, "master.key"));
	assert.match((await adopt(data)).stderr, /\bmaster key\b.* [0-9a-f]{16}\b/);
	assertRefusal(await refusedStart({ data }), /`svc adopt`/);
});
