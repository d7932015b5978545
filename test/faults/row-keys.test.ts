/* The key for rows is replaced while clients read and write, while the server is killed, and while somebody writes the file. */
import assert from "node:assert/strict";
import { chmodSync, cpSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { newest } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, login, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type RowKeysWorld, SECRETS, startRowKeysWorld, testKills, withFile } from "./row-keys-world.ts";

let world: RowKeysWorld;
before(async () => {
	world = await startRowKeysWorld();
});
after(() => world.server.close());

/** Reads, writes and syncs until it is stopped. Every answer is right. @returns the number of rounds */
async function use(name: string, isOver: () => boolean): Promise<number> {
	const { client, token, slug } = world;
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

test("rows are authenticated with a new key while everything works, and the old one is destroyed", async (t) => {
	const { server, client, asAdmin, rotate, idsNow, finished, assertSound } = world;
	const [old = ""] = await idsNow();
	let isOver = false;
	t.after(() => {
		isOver = true;
	});
	const users = ["A", "B", "C"].map((name) => use(name, () => isOver));
	const id = await rotate();
	assert.deepEqual(await idsNow(), [old, id]);
	refused(await client.post("/keys/rotate", { purpose: "rows" }, asAdmin()), 409, "conflict");
	await assertSound();
	await finished(id);
	isOver = true;
	for (const rounds of await Promise.all(users)) assert.ok(rounds > 0);
	await assertSound();
	assert.partialDeepStrictEqual((await newest(client, world.admin, "key.rotated"))?.data, {
		purpose: "rows",
		key_id: id,
	});
	const destroyed = await newest(client, world.admin, "key.destroyed");
	assert.deepEqual([destroyed?.data, destroyed?.rows], [{ purpose: "rows", key_id: old }, `keyring/${old}`]);
	await server.restart();
	await assertSound();
});

testKills([0, 250], () => world);

test("a key for rows continues to be replaced while the master key is", async () => {
	const { server, client, asAdmin, rotate, finished, assertSound } = world;
	const id = await rotate();
	ok(await client.post("/keys/rotate", { purpose: "master" }, asAdmin()));
	await finished(id);
	await server.restart();
	await assertSound();
});

test("a backup from the middle of a rotation is verified, restored, and continues with it", async () => {
	const { server, client, asAdmin, rotate, finished, assertSound } = world;
	const id = await rotate();
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
	await server.restart();
	world.admin = { ...world.admin, token: await login(client, world.admin) };
	await assertSound();
	await finished(id);
	await assertSound();
});

test("a database is adopted in the middle of a rotation, which continues", async () => {
	const { server, rotate, finished, assertSound } = world;
	const id = await rotate();
	await server.kill("SIGKILL");
	const adopted = await runLocal(server.data, ["adopt", "--again", "--yes"]);
	assert.equal(adopted.code, 0, adopted.stderr);
	await server.restart();
	await assertSound();
	await finished(id);
	await assertSound();
});

test("a revoked token that is put back is refused, by whichever key its row was authenticated", async () => {
	const { server, client, asAdmin, rotate, finished, assertSound } = world;
	const revoked = await apiToken(client, world.admin, "read");
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
	await server.restart();
	ok(await client.delete(`/auth/tokens/${revoked.id}`, asAdmin()));
	const id = await rotate();
	await server.kill("SIGKILL");
	withFile(server.data, (database) => database.exec(`VACUUM INTO '${kept}.whole'`));
	putBack();
	await server.restart();
	refused(await client.get("/realms", { token: revoked.token }), 503, "database_altered");
	await server.stop();
	cpSync(`${kept}.whole`, join(server.data, "svc.db"));
	chmodSync(join(server.data, "svc.db"), 0o600);
	await server.restart();
	await assertSound();
	await finished(id);
	await server.stop();
	putBack();
	await server.restart();
	refused(await client.get("/realms", { token: revoked.token }), 503, "database_altered");
});
