/* Another program removes or empties the database of a stopped server: nobody becomes its first account. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD, type Person, person, unique } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import { plainApi } from "./plain-api.ts";
import { runServer } from "./process.ts";

const root = mkdtempSync(join(tmpdir(), "svc-emptied-"));
const honest = join(root, "honest");
const backup = join(root, "backup.db");
let admin: Person;

before(async () => {
	const server = await startServer();
	const client = api(server);
	admin = await person(client, "admin");
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	await server.stop();
	cpSync(join(server.data, "backups", name), backup);
	cpSync(server.data, honest, { recursive: true });
	await server.close();
});
after(() => rmSync(root, { recursive: true }));

const register = (client: Api) =>
	client.post("/auth/register", { email: `${unique("eve")}@example.test`, password: PASSWORD });

/** Asks a server over a data directory in which everybody may register. @returns what the server wrote to its log */
async function askOver(data: string, ask: (client: Api) => Promise<void>): Promise<string> {
	const run = await runServer({ data, env: { SVC_REGISTRATION_MODE: "open" } });
	try {
		await ask(plainApi(run.url));
	} finally {
		await run.kill("SIGTERM");
	}
	return (await run.ended).stderr;
}

async function expectRefusal(data: string): Promise<void> {
	const log = await askOver(data, async (client) => {
		refused(await register(client), 503, "database_altered");
		refused(await client.get("/doctor", { token: admin.token }), 503, "database_altered");
		assert.equal((await client.get("/health")).status, 503);
	});
	assert.match(log, /"database\.altered".*svc adopt --again/);
}

function removeDatabase(data: string): void {
	for (const suffix of ["", "-wal", "-shm"]) rmSync(join(data, `svc.db${suffix}`), { force: true });
}

function emptyDatabase(data: string): void {
	const database = new DatabaseSync(join(data, "svc.db"), { enableForeignKeyConstraints: false });
	const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migration'").all();
	tamperWith(database, () => database.exec(tables.map(({ name }) => `DELETE FROM ${name}`).join("; ")));
	database.close();
}

for (const [what, empty, refusal] of [
	["removed", removeDatabase, /has no database/],
	["emptied", emptyDatabase, /the database is empty/],
] as const)
	test(`a server whose database was ${what} refuses everything, until it is restored or adopted as a new one`, async () => {
		const data = join(root, what);
		cpSync(honest, data, { recursive: true });
		empty(data);
		const early = await runLocal(data, ["adopt", "--again", "--yes"]);
		assert.equal(early.code, 1, early.stderr);
		assert.match(early.stderr, refusal);
		await expectRefusal(data);
		await expectRefusal(data);
		const restored = join(root, `${what} and restored`);
		cpSync(data, restored, { recursive: true });
		const restoring = await runLocal(restored, ["restore", backup, "--replace", "--yes"]);
		assert.equal(restoring.code, 0, restoring.stderr);
		await askOver(restored, async (client) => {
			ok(await client.post("/auth/login", { email: admin.email, password: admin.password }));
		});
		const adopting = await runLocal(data, ["adopt", "--again", "--yes"]);
		assert.equal(adopting.code, 0, adopting.stderr);
		assert.match(adopting.stderr, /would be believed: 0 accounts/);
		await askOver(data, async (client) => {
			ok(await register(client), 201);
			ok(await client.get("/health"));
		});
	});
