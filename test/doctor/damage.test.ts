/* The doctor finds what a database tool or a failing disk did to the files. */
import assert from "node:assert/strict";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import { runLocal } from "../backup/local.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { secret } from "../harness/fixtures.ts";

let world: EngineWorld;

before(async () => {
	world = await startEngineWorld();
});
after(() => world.close());

/** Returns the doctor's result of a check after a change to the database of the stopped server. */
async function examineAfter(change: (file: string) => unknown, name: string, deep: boolean): Promise<string[]> {
	await world.server.stop();
	await change(join(world.server.data, "svc.db"));
	await world.server.restart();
	const path = `/doctor?deep=${deep}`;
	const answer = await world.client.get<{ checks: Record<string, string>[] }>(path, { token: world.admin.token });
	const { checks } = ok(answer);
	return checks.filter((check) => check.name === name).map(({ status, message }) => `${status} ${message}`);
}

function query(sql: string): (file: string) => void {
	return (file) => {
		const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
		tamperWith(database, () => database.exec(sql));
		database.close();
	};
}

test("a reference to nothing is found by --deep", async () => {
	await secret(world.client, world.admin, world.slug, "KEY", "value");
	const orphan = query("DELETE FROM secret");
	assert.match((await examineAfter(orphan, "database", true)).join(), /^failed .*\bdamaged\b/);
	assert.match((await examineAfter(() => undefined, "database", false)).join("\n"), /^ok .*$/);
});

test("a row that was taken away is found, until the database is adopted", async () => {
	assert.match(
		(await examineAfter(() => undefined, "rows", false)).join("\n"),
		/^failed .*\bcontent rows, the counts of realms$/,
	);
	const adopt = async () => assert.equal((await runLocal(world.server.data, ["adopt", "--again", "--yes"])).code, 0);
	assert.match((await examineAfter(adopt, "rows", false)).join("\n"), /^ok .*$/);
});

test("a value that does not open is named by --deep, and by a verification of the log", async () => {
	const { client, admin, slug } = world;
	await secret(client, admin, slug, "SPOILT", "value");
	const id = "(SELECT id FROM secret WHERE key = 'SPOILT')";
	const last = "CASE substr(value, -1) WHEN x'00' THEN x'01' ELSE x'00' END";
	const spoilt = `CAST(substr(value, 1, length(value) - 1) || ${last} AS BLOB)`;
	const spoil = query(`UPDATE secret_version SET value = ${spoilt} WHERE secret_id = ${id}`);
	const line = new RegExp(`^failed .*${slug}/dev SPOILT version 1\\b.*$`);
	assert.match((await examineAfter(spoil, "sealed", true)).join("\n"), line);
	assert.match((await examineAfter(() => undefined, "rows", false)).join("\n"), /^ok .*$/);
	const verified = await client.get<{ status: string; altered: string[] }>("/audit/verify", { token: admin.token });
	const { status, altered } = ok(verified);
	assert.deepEqual([status, altered], ["rows_altered", [`secret ${slug}/dev SPOILT version 1 does not open`]]);
});

test("an event that was changed is found", async () => {
	const change = query("UPDATE audit_event SET data = data || ' ' WHERE seq = 2");
	assert.match((await examineAfter(change, "audit", false)).join("\n"), /^failed .*\bevent 2$/);
});

test("a page that was overwritten is found without --deep", async () => {
	const spoil = (file: string) => {
		const database = new DatabaseSync(file, { readOnly: true });
		const found = database.prepare("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'audit_checkpoint'").get();
		const { page_size } = database.prepare("PRAGMA page_size").get() as { page_size: number };
		database.close();
		const handle = openSync(file, "r+");
		writeSync(handle, Buffer.alloc(100, 0xff), 0, 100, (Number(found?.rootpage) - 1) * page_size);
		closeSync(handle);
	};
	assert.match((await examineAfter(spoil, "database", false)).join(), /^failed .*\bdamaged\b/);
});
