import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { getSecret, KEPT_KEY, KEPT_VALUE, startKeeper } from "../faults/kept-secret.ts";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, type Person, person, realm, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { runLocal } from "./local.ts";

const scratch = mkdtempSync(join(tmpdir(), "svc-load-"));
const WRITERS = 8;
const LARGE = 64;
const LARGE_CHARACTERS = 200_000;
const MAX_LOG_BYTES = 64 * 1024 * 1024;

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
});
after(async () => {
	await server.close();
	rmSync(scratch, { recursive: true });
});

const set = async (key: string, value: string) =>
	ok(await client.post<Secret>(`/realms/${slug}/secrets`, { key, value }, { token }), 201).version;
const get = async (key: string) => ok(await client.get<Secret>(secretPath(slug, key), { token }));

test("a backup under a load of writes is sound, lets them go on, and holds what was answered before it", async () => {
	// Enough data that copying takes longer than many writes.
	for (let index = 0; index < LARGE; index++) await set(`large-${index}`, `${index}`.repeat(LARGE_CHARACTERS / 2));
	const answered = new Map<string, number>();
	const over = new AbortController();
	const write = async (writer: number) => {
		for (let count = 0; !over.signal.aborted; count++) {
			const key = `key-${writer}-${count % 5}`;
			answered.set(key, await set(key, `value ${count}`));
		}
	};
	const writers = Array.from({ length: WRITERS }, (_, index) => write(index));
	while (answered.size < WRITERS * 5) await get("large-0");
	const before = new Map(answered);
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, { token }), 201);
	assert.ok(
		[...answered].some(([key, version]) => version > (before.get(key) ?? 0)),
		"writes went on meanwhile",
	);
	assert.ok(statSync(join(server.data, "svc.db-wal")).size < MAX_LOG_BYTES);
	over.abort();
	await Promise.all(writers);

	await server.stop();
	const file = join(scratch, name);
	cpSync(join(server.data, "backups", name), file);
	const { code, stderr } = await runLocal(server.data, ["restore", file, "--replace", "--yes"]);
	assert.equal(code, 0, stderr);
	await server.restart();
	for (const [key, version] of before) {
		const found = await get(key);
		assert.ok(found.version >= version, `${key} is there as it was answered`);
		assert.match(found.value, /^value \d+$/);
	}
	assert.equal((await get("large-7")).value, "7".repeat(LARGE_CHARACTERS / 2));
});

const skipWithoutMount =
	spawnSync("unshare", ["--mount", "true"]).status === 0 ? false : "a small disk can only be mounted by root";

test("a full disk ends a backup with one clear error, and the server keeps running", {
	skip: skipWithoutMount,
}, async (t) => {
	const folder = join(scratch, "small");
	const mount =
		'mkdir "$SVC_BACKUP_DIRECTORY" && mount -t tmpfs -o size=64k,mode=700 none "$SVC_BACKUP_DIRECTORY" && exec "$@"';
	const keeper = await startKeeper(t, {
		env: { SVC_BACKUP_DIRECTORY: folder },
		wrap: (command) => ["unshare", "--mount", "sh", "-c", mount, "sh", ...command],
	});
	const { admin: owner } = keeper.owner;
	const answer = await keeper.api.post("/backups", undefined, { token: owner.token });
	refused(answer, 503, "unhealthy");
	assert.match(answer.text, /\bfull\b.*\bbackup\.directory\b/);
	assert.equal(ok(await getSecret(keeper.api, keeper.owner, KEPT_KEY)).value, KEPT_VALUE);
	ok(await keeper.api.get("/health"));
	assert.deepEqual(readdirSync(join(`/proc/${keeper.run.pid}/root`, folder)), []);
	assert.equal((await events(keeper.api, owner, "type=backup.failed")).length, 1);
});
