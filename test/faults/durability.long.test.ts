import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import type { Answer } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import {
	assertChainIntact,
	getSecret,
	KEPT_KEY,
	KEPT_VALUE,
	type Keeper,
	longValue,
	setSecret,
	startKeeper,
	writeUntilMoved,
} from "./kept-secret.ts";

const OTHER_VALUE = "the value of the other secret";

test("everything answered is there after kill -9, and the audit chain is intact", async (t) => {
	const keeper = await startKeeper(t);
	const values = new Map(Array.from({ length: 200 }, (_, index) => [`key-${index}`, `value ${index} \u0000 ☃`]));
	// Fewer at a time than the requests of one source that may wait.
	const left = values.entries();
	const writer = async () => {
		for (const [key, value] of left) ok(await setSecret(keeper.api, keeper.owner, key, value), 201);
	};
	await Promise.all(Array.from({ length: 16 }, writer));
	await keeper.run.kill("SIGKILL");
	await keeper.restart();
	const { api, owner } = keeper;
	for (const [key, value] of values) assert.equal(ok(await getSecret(api, owner, key)).value, value);
	await assertChainIntact(api, owner);
});

test("the log is moved into the database while the server answers, and nothing is lost by kill -9", async (t) => {
	const keeper = await startKeeper(t);
	const keys = await writeUntilMoved(keeper);
	await keeper.run.kill("SIGKILL");
	await keeper.restart();
	const { api, owner } = keeper;
	for (const key of keys) assert.equal(ok(await getSecret(api, owner, key)).value, longValue(key));
	await assertChainIntact(api, owner);
});

test("a server that gets SIGTERM the moment it says that it listens ends in good order", async (t) => {
	const keeper = await startKeeper(t);
	await keeper.run.kill("SIGKILL");
	for (let start = 1; start <= 3; start += 1) {
		await keeper.restart();
		assert.equal((await keeper.run.kill("SIGTERM")).code, 0);
	}
});

test("one flipped byte in a stored value is noticed: the read is refused, other secrets are served", async (t) => {
	const keeper = await stoppedWithTwoSecrets(t);
	flipByte(keeper.data, KEPT_KEY);
	await keeper.restart();
	const { api, owner } = keeper;
	assertNoValue(await getSecret(api, owner, KEPT_KEY));
	assertNoValue(await api.get(`/realms/${owner.slug}/secrets`, { token: owner.token }));
	assertUnhealthy(await api.get(`/eso/${owner.slug}/${KEPT_KEY}?env=dev`, { token: owner.token }));
	assertUnhealthy(await api.get(`/eso/${owner.slug}?env=dev`, { token: owner.token }));
	assert.equal(ok(await getSecret(api, owner, "other")).value, OTHER_VALUE);
});

test("with a destroyed page of the database, the server ends with 74 before it listens", async (t) => {
	const keeper = await stoppedWithTwoSecrets(t);
	destroyPage(keeper.data, "secret_version");
	await assert.rejects(keeper.restart(), /ended with 74 before it listened/);
});

/** Swaps of the rows of secrets 1 and 2 with a database tool: values would be served under names they were not written to. */
const SWAPS: Record<string, string> = {
	"the values of two secrets": `CREATE TEMP TABLE swap AS SELECT 3 - secret_id AS secret_id, value FROM secret_version;
		UPDATE secret_version SET value = (SELECT value FROM swap WHERE swap.secret_id = secret_version.secret_id)`,
	"the whole rows of two secrets": `UPDATE secret_version SET version = version + secret_id;
		UPDATE secret_version SET secret_id = 3 - secret_id; UPDATE secret_version SET version = 1`,
	"the names of two secrets": `UPDATE secret SET key = key || '~';
		UPDATE secret SET key = CASE key WHEN '${KEPT_KEY}~' THEN 'other' ELSE '${KEPT_KEY}' END`,
	"the environment of a secret": "UPDATE secret SET environment = 'prod'",
};

for (const [what, sql] of Object.entries(SWAPS)) {
	test(`${what}, changed in the database: no read answers a value under a wrong name`, async (t) => {
		const keeper = await stoppedWithTwoSecrets(t);
		const database = new DatabaseSync(join(keeper.data, "svc.db"));
		database.exec(sql);
		database.close();
		await keeper.restart();
		const { api, owner } = keeper;
		for (const key of [KEPT_KEY, "other"]) {
			for (const env of ["dev", "prod"])
				assertNoValue(await api.get(`/eso/${owner.slug}/${key}?env=${env}`, { token: owner.token }));
			assertNoValue(await getSecret(api, owner, key));
		}
		assertNoValue(await api.get(`/realms/${owner.slug}/secrets`, { token: owner.token }));
	});
}

test("an earlier version put in the place of the current one is refused", async (t) => {
	const keeper = await startKeeper(t);
	ok(await setSecret(keeper.api, keeper.owner, KEPT_KEY, "second"), 201);
	await keeper.run.kill("SIGTERM");
	const database = new DatabaseSync(join(keeper.data, "svc.db"));
	database.exec(
		"UPDATE secret_version SET value = (SELECT value FROM secret_version WHERE version = 1) WHERE version = 2",
	);
	database.close();
	await keeper.restart();
	const { api, owner } = keeper;
	assertNoValue(await getSecret(api, owner, KEPT_KEY));
});

async function stoppedWithTwoSecrets(t: TestContext): Promise<Keeper> {
	const keeper = await startKeeper(t);
	ok(await setSecret(keeper.api, keeper.owner, "other", OTHER_VALUE), 201);
	// Stopped in good order, so that everything is in the database file and nothing in the log.
	assert.equal((await keeper.run.kill("SIGTERM")).code, 0);
	return keeper;
}

/** Fails unless the request is refused as the server's own failure or (for a name that no longer exists) as not found; never with a value. */
function assertNoValue(answer: Answer): void {
	assert.ok([404, 500, 503].includes(answer.status), `${answer.status}: ${answer.text}`);
	assert.ok(!answer.text.includes(KEPT_VALUE) && !answer.text.includes(OTHER_VALUE), "a value was answered");
}

/** The operator deletes a secret that is not found, so a failure must always be a 503 for it. Design: §7. */
function assertUnhealthy(answer: Answer): void {
	assert.equal(answer.status, 503, answer.text);
	assertNoValue(answer);
}

function flipByte(data: string, key: string): void {
	const file = join(data, "svc.db");
	const database = new DatabaseSync(file);
	const select = "SELECT value FROM secret_version AS v JOIN secret AS s ON s.id = v.secret_id WHERE s.key = ?";
	const sealed = Buffer.from(database.prepare(select).get(key)?.value as Uint8Array);
	database.close();
	const content = readFileSync(file);
	const at = content.indexOf(sealed) + sealed.length - 20;
	assert.ok(
		at > sealed.length && content.lastIndexOf(sealed) === content.indexOf(sealed),
		"the value is in the file once",
	);
	content.writeUInt8(content.readUInt8(at) ^ 1, at);
	writeFileSync(file, content);
}

/** Overwrites the first page of a table. */
function destroyPage(data: string, table: string): void {
	const file = join(data, "svc.db");
	const database = new DatabaseSync(file);
	const page = Number(database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table)?.rootpage);
	const pageBytes = Number(database.prepare("PRAGMA page_size").get()?.page_size);
	database.close();
	const content = readFileSync(file);
	content.fill(0xff, (page - 1) * pageBytes, page * pageBytes);
	writeFileSync(file, content);
}
