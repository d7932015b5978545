/* Rotation of the master key under two servers that share one database on a real PostgreSQL, each with files of its own. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { masterFingerprint } from "../../packages/server/src/crypto/wrap.ts";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { createDatabase, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };

const ends = new AsyncDisposableStack();
let servers: readonly Server[];
let [here, there]: Api[] = [];
let folder: string;
let admin: Person;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	const postgres = await startPostgres();
	ends.defer(postgres.stop);
	folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
	ends.defer(() => rm(folder, { recursive: true }));
	const url = createDatabase(postgres, "svc_master_key");
	const start = async (name: string, env: Record<string, string> = {}) => {
		const shared = { SVC_DATABASE_URL: url, SVC_NEXT_MASTER_KEY_FILE: join(folder, name), ...env };
		const server = await startServer({ env: shared });
		ends.defer(server.close);
		return server;
	};
	const first = await start("here");
	const copied = join(folder, "master.key");
	await copyFile(join(first.data, "master.key"), copied);
	const second = await start("there", { SVC_MASTER_KEY_FILE: copied });
	servers = [first, second];
	[here, there] = [api(first), api(second)];
	admin = await person(on(here), "admin");
});

const on = (server: Api | undefined): Api => server ?? assert.fail("no server");

/** Provides the next master key to servers, and takes an earlier one away. */
async function provide(key: Buffer | undefined, ...names: string[]): Promise<void> {
	for (const name of names) {
		await rm(join(folder, name), { force: true });
		if (key !== undefined) await writeFile(join(folder, name), key.toString("hex"), { mode: 0o400 });
	}
}

const rotate = () => on(here).post<{ id: string }>("/keys/rotate", { purpose: "master" }, { token: admin.token });

type Nodes = { nodes: { master_key: string; next_master_key: string }[] };
const nodes = async () => ok(await on(here).get<Nodes>("/nodes", { token: admin.token })).nodes;

/** Waits until so many servers have reported this next key. */
const reported = (key: Buffer, count: number) =>
	eventually("the next master key is reported", async () => {
		const fingerprints = (await nodes()).map((node) => node.next_master_key);
		return fingerprints.filter((one) => one === masterFingerprint(key)).length === count;
	});

test("the master key stays until each server has the next one, then both go on under it", options, async () => {
	const { token } = admin;
	const old = await realm(on(here), admin);
	await secret(on(here), admin, old.slug, "OLD", "a value");
	refused(await rotate(), 409, "conflict");
	const next = randomBytes(32);
	await provide(next, "here");
	await reported(next, 1);
	refused(await rotate(), 409, "conflict");
	await provide(next, "there");
	await reported(next, 2);
	const { id } = ok(await rotate());
	// The other one has not looked for the key yet: its first request does, a write as well as a read.
	const made = await realm(on(there), admin);
	await secret(on(there), admin, made.slug, "NEW", "another value");
	for (const each of [here, there]) {
		assert.equal(ok(await on(each).get<Secret>(secretPath(old.slug, "OLD"), { token })).value, "a value");
		assert.equal(ok(await on(each).get<Secret>(secretPath(made.slug, "NEW"), { token })).value, "another value");
		ok(await on(each).get("/auth/whoami", { token: await login(on(each), admin) }));
		ok(await on(each).post("/keys/rotate", { purpose: "session" }, { token }));
		ok(await on(each).post("/keys/rotate", { purpose: "record", realm: old.slug }, { token }));
		ok(await on(each).get("/health?ready=true"));
	}
	await eventually("both servers report the key", async () => (await nodes()).every((node) => node.master_key === id));
	await servers[1]?.restart();
	there = api(servers[1] ?? assert.fail("no server"));
	assert.equal(ok(await there.get<Secret>(secretPath(old.slug, "OLD"), { token })).value, "a value");
});

test("a server that does not have the key in use refuses everything, until it gets it", options, async () => {
	const { token } = admin;
	const next = randomBytes(32);
	await provide(next, "here", "there");
	await reported(next, 2);
	const pid = servers[1]?.pid ?? assert.fail("no server");
	process.kill(pid, "SIGSTOP");
	try {
		await provide(undefined, "there");
		ok(await rotate());
	} finally {
		process.kill(pid, "SIGCONT");
	}
	refused(await on(there).get("/auth/whoami", { token }), 503, "unhealthy");
	assert.equal((await on(there).get("/health?ready=true")).status, 503);
	ok(await on(here).get("/auth/whoami", { token }));
	await provide(next, "there");
	ok(await on(there).get("/auth/whoami", { token }));
	await realm(on(there), admin);
	ok(await on(there).get("/health?ready=true"));
});
