/* The key for rows is replaced while clients read and write, while the server is killed, and while somebody writes the file. */
import assert from "node:assert/strict";
import { chmodSync, cpSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { newest } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, fewAtOnce, login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

interface Key {
	readonly id: string;
	readonly purpose: string;
	readonly state: string;
}

/** Secrets, with as many versions: enough that a rotation takes a second. */
const SECRETS = 1500;
/** Moments of a rotation at which the server is killed, in milliseconds. */
const MOMENTS = [0, 60, 250, 600];

let server: Server;
let client: Api;
let admin: Person;
let token: string;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	admin = await person(client, "admin");
	({ token } = await apiToken(client, admin, "read,write,delete"));
	({ slug } = await realm(client, admin));
	const keys = Array.from({ length: SECRETS }, (_, index) => `KEY_${index}`);
	await fewAtOnce(keys, (key) => secret(client, admin, slug, key, key, { environment: "prod" }));
});
after(() => server.close());

const asAdmin = () => ({ token: admin.token });
const rotate = () => client.post<{ id: string }>("/keys/rotate", { purpose: "rows" }, asAdmin());
const rowKeys = async () => {
	const { keys } = ok(await client.get<{ keys: Key[] }>("/keys", asAdmin()));
	return keys.filter(({ purpose }) => purpose === "rows");
};
const idsNow = async () => (await rowKeys()).map(({ id }) => id);

/** Waits until the key before is destroyed. */
async function finished(id: string): Promise<void> {
	await eventually("the key before is destroyed", async () => (await idsNow()).join() === id);
}

async function restarted(): Promise<void> {
	await server.restart();
	client = api(server);
}

/** Whatever compares rows finds them sound. */
async function assertSound(): Promise<void> {
	const verified = ok(await client.get<{ status: string; differences: unknown[] }>("/audit/verify", asAdmin()));
	assert.deepEqual([verified.status, verified.differences], ["intact", []]);
	const { checks } = ok(await client.get<{ checks: Record<string, string>[] }>("/doctor?deep=true", asAdmin()));
	const about = checks.filter(({ name }) => name === "rows" || name === "rights");
	assert.deepEqual([about.length, about.filter(({ status }) => status !== "ok")], [2, []]);
	assert.equal(ok(await client.get<{ status: string }>("/health", asAdmin())).status, "healthy");
}

/** Reads, writes and syncs until it is stopped. Every answer is right. @returns the number of rounds */
async function use(name: string, isOver: () => boolean): Promise<number> {
	const as = { token };
	let round = 0;
	for (; !isOver(); round++) {
		const value = `${name} ${round}`;
		ok(await client.post(`/realms/${slug}/secrets`, { key: name, value, environment: "dev" }, as), 201);
		assert.equal(ok(await client.get<Secret>(`${secretPath(slug, name)}?env=dev`, as)).value, value);
		const { data } = ok(await client.get<{ data: object }>(`/eso/${slug}`, as));
		assert.equal(Object.keys(data).length, SECRETS);
		if (round % 5 === 0) ok(await client.delete(`${secretPath(slug, name)}?env=dev`, as));
	}
	return round;
}

/** A connection to the stopped server's file, as a database tool has it. */
function withFile<Found>(data: string, work: (database: DatabaseSync) => Found): Found {
	const database = new DatabaseSync(join(data, "svc.db"));
	try {
		return work(database);
	} finally {
		database.close();
	}
}

/** Counts the rows of some tables by the key that authenticates them. */
function countByKey(data: string): Map<string, number> {
	const tables = ["account", "session", "api_token", "realm", "secret", "secret_version"];
	const all = tables.map((table) => `SELECT hex(substr(mac, 1, 8)) AS id FROM ${table}`).join(" UNION ALL ");
	const counted = withFile(data, (database) =>
		database.prepare(`SELECT lower(id) AS id, count(*) AS count FROM (${all}) GROUP BY id`).all(),
	);
	return new Map(counted.map(({ id, count }) => [String(id), Number(count)]));
}

test("rows are authenticated with a new key while everything works, and the old one is destroyed", async (t) => {
	const [old = ""] = await idsNow();
	let isOver = false;
	t.after(() => {
		isOver = true;
	});
	const users = ["A", "B", "C"].map((name) => use(name, () => isOver));
	const { id } = ok(await rotate());
	assert.deepEqual(await idsNow(), [old, id]);
	refused(await rotate(), 409, "conflict");
	await assertSound();
	await finished(id);
	isOver = true;
	for (const rounds of await Promise.all(users)) assert.ok(rounds > 0);
	await assertSound();
	assert.partialDeepStrictEqual((await newest(client, admin, "key.rotated"))?.data, { purpose: "rows", key_id: id });
	const destroyed = await newest(client, admin, "key.destroyed");
	assert.deepEqual([destroyed?.data, destroyed?.rows], [{ purpose: "rows", key_id: old }, `keyring/${old}`]);
	await restarted();
	await assertSound();
});

for (const moment of MOMENTS) {
	test(`a server that is killed ${moment} ms into a rotation continues with it at the next start`, async () => {
		const { id } = ok(await rotate());
		if (moment === MOMENTS[0]) await eventually("rows of both keys", async () => countByKey(server.data).size === 2);
		await delay(moment);
		await server.kill("SIGKILL");
		const left = countByKey(server.data);
		assert.ok(moment !== MOMENTS[0] || left.size === 2, "it was in the middle");
		await restarted();
		await assertSound();
		await finished(id);
		await assertSound();
		await server.stop();
		assert.deepEqual([...countByKey(server.data).keys()], [id]);
		await restarted();
	});
}

test("a key for rows continues to be replaced while the master key is", async () => {
	const { id } = ok(await rotate());
	ok(await client.post("/keys/rotate", { purpose: "master" }, asAdmin()));
	await finished(id);
	await restarted();
	await assertSound();
});

test("a backup from the middle of a rotation is verified, restored, and continues with it", async () => {
	const { id } = ok(await rotate());
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, asAdmin()), 201);
	await finished(id);
	await server.stop();
	const file = join(server.data, "kept.db");
	cpSync(join(server.data, "backups", name), file);
	assert.equal(
		new DatabaseSync(file).prepare("SELECT count(*) AS count FROM keyring WHERE purpose = 'rows'").get()?.count,
		2,
	);
	const verified = await runLocal(server.data, ["backup", "verify", file]);
	assert.equal(verified.code, 0, verified.stderr);
	const restored = await runLocal(server.data, ["restore", file, "--replace", "--yes"]);
	assert.equal(restored.code, 0, restored.stderr);
	await restarted();
	admin = { ...admin, token: await login(client, admin) };
	await assertSound();
	await finished(id);
	await assertSound();
});

test("a database is adopted in the middle of a rotation, which continues", async () => {
	const { id } = ok(await rotate());
	await server.kill("SIGKILL");
	const adopted = await runLocal(server.data, ["adopt", "--again", "--yes"]);
	assert.equal(adopted.code, 0, adopted.stderr);
	await restarted();
	await assertSound();
	await finished(id);
	await assertSound();
});

test("a revoked token that is put back is refused, by whichever key its row was authenticated", async () => {
	const revoked = await apiToken(client, admin, "read");
	const kept = join(server.data, "kept-rows.db");
	await server.stop();
	withFile(server.data, (database) => {
		database.exec(`ATTACH '${kept}' AS other`);
		database.exec(`CREATE TABLE other.kept AS SELECT * FROM main.api_token WHERE id = '${revoked.id}'`);
	});
	const putBack = () =>
		withFile(server.data, (database) => {
			database.exec(`ATTACH '${kept}' AS other; INSERT INTO main.api_token SELECT * FROM other.kept`);
		});
	await restarted();
	ok(await client.delete(`/auth/tokens/${revoked.id}`, asAdmin()));
	const { id } = ok(await rotate());
	await server.kill("SIGKILL");
	withFile(server.data, (database) => database.exec(`VACUUM INTO '${kept}.whole'`));
	putBack();
	await restarted();
	refused(await client.get("/realms", { token: revoked.token }), 503, "database_altered");
	await server.stop();
	cpSync(`${kept}.whole`, join(server.data, "svc.db"));
	chmodSync(join(server.data, "svc.db"), 0o600);
	await restarted();
	await assertSound();
	await finished(id);
	await server.stop();
	putBack();
	await restarted();
	refused(await client.get("/realms", { token: revoked.token }), 503, "database_altered");
});
