/* `svc adopt --again` on the machine of a server that runs. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, type TestContext, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { person } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import { plainApi } from "./plain-api.ts";
import { type Run, runServer } from "./process.ts";

const root = mkdtempSync(join(tmpdir(), "svc-adopting-"));
const honest = join(root, "honest");
after(() => rmSync(root, { recursive: true }));
before(async () => {
	const server = await startServer();
	await person(api(server), "admin");
	await server.stop();
	cpSync(server.data, honest, { recursive: true });
	await server.close();
});

/** Copies the honest data, which another program may alter. */
function dataAfter(sql: string): string {
	const data = mkdtempSync(join(root, "data-"));
	cpSync(honest, data, { recursive: true });
	const database = new DatabaseSync(join(data, "svc.db"));
	database.exec(sql);
	database.close();
	return data;
}

async function runOver(t: TestContext, data: string): Promise<Run> {
	const run = await runServer({ data });
	t.after(() => run.kill("SIGKILL"));
	return run;
}

const health = async ({ url }: Run) => (await plainApi(url).get("/health")).status;
const adopt = (data: string) => runLocal(data, ["adopt", "--again", "--yes"]);

const linuxOnly = { skip: process.platform === "linux" ? false : "only Linux says which process has a lock" };

test("a server that refuses every request is ended, and starts again over what was adopted", linuxOnly, async (t) => {
	const data = dataAfter("DELETE FROM session");
	const run = await runOver(t, data);
	assert.equal(await health(run), 503);
	const { code, stderr } = await adopt(data);
	assert.equal(code, 0, stderr);
	assert.match(stderr, new RegExp(`\\b${run.pid}\\b.*: start it again`));
	assert.equal((await run.ended).code, 0);
	assert.equal(await health(await runOver(t, data)), 200);
	// The next server is none that refuses.
	assert.equal((await adopt(data)).code, 1);
});

test("a server that answers goes on, also when an altered value is refused", async (t) => {
	for (const sql of ["SELECT 1", "UPDATE lease_count SET count = count + 1"]) {
		const data = dataAfter(sql);
		const run = await runOver(t, data);
		assert.equal((await adopt(data)).code, 1, sql);
		ok(await plainApi(run.url).get("/health?ready=true"));
	}
});

test("an altered schema cannot be adopted, so its server goes on revoking leases", linuxOnly, async (t) => {
	const data = dataAfter("CREATE VIEW theirs AS SELECT 1");
	const run = await runOver(t, data);
	const { code, stderr } = await adopt(data);
	assert.deepEqual([code, await health(run)], [1, 503], stderr);
});
