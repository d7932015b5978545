import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { snapshot } from "../faults/snapshot.ts";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { invitation, login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { runLocal } from "./local.ts";

const scratch = mkdtempSync(join(tmpdir(), "svc-restore-"));

let server: Server;
let client: Api;
let admin: Person;
let slug: string;
/** A realm that was deleted before the backup. */
let deleted: string;
/** A backup outside the data directory, and the key that opens it. */
let backup: string;
let name: string;
let key: string;

before(async () => {
	server = await startServer();
	client = api(server);
	admin = await person(client, "admin");
	({ slug } = await realm(client, admin));
	await secret(client, admin, slug, "KEPT", "as it was");
	({ slug: deleted } = await realm(client, admin));
	await secret(client, admin, deleted, "LOST", "a slip");
	await secret(client, admin, slug, "LOST", "another slip");
	ok(await client.delete(`${secretPath(slug, "LOST")}?env=dev`, { token: admin.token }));
	ok(await client.delete(`/realms/${deleted}`, { token: admin.token }));
	await invitation(client, admin, { bindings: [{ realm: slug, role: "viewer" }] });
	({ name } = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201));
	[backup, key] = [join(scratch, "backup.db"), join(scratch, "master.key")];
	cpSync(join(server.data, "backups", name), backup);
	cpSync(join(server.data, "master.key"), key);
});
after(async () => {
	await server.close();
	rmSync(scratch, { recursive: true });
});

/** Makes an empty data directory. */
function folder(title: string): string {
	const path = join(scratch, title);
	mkdirSync(path, { mode: 0o700 });
	return path;
}

/** The files of a data directory, without the lock, which every owner touches. */
const contents = (data: string) =>
	Object.fromEntries(Object.entries(snapshot(data)).filter(([file]) => !file.startsWith("svc.lock")));

const value = async (token: string) =>
	ok(await client.get<Secret>(`${secretPath(slug, "KEPT")}?env=dev`, { token })).value;

test("svc backup verify says what is in a sound backup", async () => {
	const { code, stdout, stderr } = await runLocal(folder("verify"), ["backup", "verify", backup, "--json"], {
		SVC_MASTER_KEY_FILE: key,
	});
	assert.equal(code, 0, stderr);
	const { status, checkpoints, keys, samples, ...manifest } = JSON.parse(stdout);
	assert.deepEqual([status, manifest.name, manifest.restore_epoch], ["sound", name, 0]);
	assert.ok(keys >= 6 && samples >= 1 && checkpoints >= 0);
	assert.deepEqual(readdirSync(join(scratch, "verify")), [], "nothing was made");
});

test("without its master key, or with another one, nothing is touched and the fingerprint is named", async () => {
	const other = join(scratch, "other.key");
	writeFileSync(other, Buffer.alloc(32, 7), { mode: 0o400 });
	const data = folder("keyless");
	const { fingerprint } = JSON.parse(readFileSync(backup, "latin1").trimEnd().split("\n").at(-1) ?? "");
	for (const env of [{}, { SVC_MASTER_KEY_FILE: other }, { SVC_MASTER_KEY_FILE: join(scratch, "nothing") }]) {
		for (const args of [
			["backup", "verify", backup],
			["restore", backup, "--yes"],
		]) {
			const { code, stdout, stderr } = await runLocal(data, args, env as Record<string, string>);
			assert.deepEqual([code, stdout], [1, ""]);
			assert.match(stderr, new RegExp(`fingerprint ${fingerprint}`));
		}
	}
	assert.deepEqual(readdirSync(data), []);
});

test("a restore asks, and is refused where nobody can be asked", async () => {
	const { code, stderr } = await runLocal(folder("unasked"), ["restore", backup], { SVC_MASTER_KEY_FILE: key });
	assert.equal(code, 2);
	assert.match(stderr, /^svc: .*--yes\b/);
	assert.deepEqual(readdirSync(join(scratch, "unasked")), []);
});

test("a server that runs keeps its data: restore is refused with what to do", async () => {
	const { code, stderr } = await runLocal(server.data, ["restore", backup, "--replace", "--yes"]);
	assert.equal(code, 1);
	assert.match(stderr, /\bdata_dir\n/);
});

test("a database that is there is not replaced unless it is said, and then it is kept under a dated name", async () => {
	ok(await client.post(`/realms/${slug}/secrets`, { key: "KEPT", value: "as it is" }, { token: admin.token }), 201);
	// Killed so that its last writes are in the log next to the database.
	await server.kill("SIGKILL");
	const before = contents(server.data);
	const refusal = await runLocal(server.data, ["restore", backup, "--yes"]);
	assert.equal(refusal.code, 1);
	assert.match(refusal.stderr, /--replace\b/);
	assert.deepEqual(contents(server.data), before);

	const { code, stderr } = await runLocal(server.data, ["restore", backup, "--replace", "--yes"]);
	assert.equal(code, 0, stderr);
	assert.match(stderr, /svc lease resume/);
	const names = readdirSync(server.data).filter((file) => file.startsWith("svc.db"));
	assert.deepEqual(
		names.filter((file) => !file.includes("before")),
		["svc.db"],
	);
	const [old = "", ...beside] = names.filter((file) => file.includes("before"));
	assert.match(old, /^svc\.db\.before-\d{8}T\d{9}Z$/);
	assert.deepEqual(beside, [`${old}-shm`, `${old}-wal`]);
	assert.equal(contents(server.data)[`${old}-wal`], before["svc.db-wal"]);
	assert.equal(statSync(join(server.data, "svc.db")).mode & 0o777, 0o600);
});

test("a restored server serves what the backup held; earlier sessions and invitations have ended", async () => {
	await server.restart();
	client = api(server);
	refused(await client.get("/realms", { token: admin.token }), 401);
	admin = { ...admin, token: await login(client, admin) };
	assert.equal(await value(admin.token), "as it was");
	assert.deepEqual(ok(await client.get<{ invitations: [] }>("/invitations", { token: admin.token })).invitations, []);
});

test("what was deleted before the backup can be restored after it", async () => {
	const as = { token: admin.token };
	ok(await client.post(`/realms/${deleted}/restore`, {}, as));
	assert.equal(ok(await client.get<Secret>(`${secretPath(deleted, "LOST")}?env=dev`, as)).value, "a slip");
	ok(await client.post(`${secretPath(slug, "LOST")}/restore?env=dev`, {}, as));
	assert.equal(ok(await client.get<Secret>(`${secretPath(slug, "LOST")}?env=dev`, as)).value, "another slip");
});

test("the log continues unbroken, records the restore once, and still has the backup", async () => {
	await server.restart();
	client = api(server);
	const recorded = await events(client, admin, "type=backup.restored");
	assert.deepEqual(
		recorded.map(({ data }) => [data.name, data.epoch]),
		[[name, 1]],
	);
	assert.equal((await events(client, admin, "type=backup.created")).length, 1);
	type Verified = { status: string; differences: unknown[] };
	const verified = ok(await client.get<Verified>("/audit/verify", { token: admin.token }));
	assert.deepEqual([verified.status, verified.differences], ["intact", []]);
});

test("a backup of the restored server says that it was restored", async () => {
	const made = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	const { code, stdout } = await runLocal(server.data, ["backup", "verify", join(server.data, "backups", made.name)]);
	assert.equal(code, 0);
	assert.match(stdout, /^restored +1\b/m);
});

test("leases rest until they are resumed: health, metrics, log and the answer of resume say so", async () => {
	const paused = async () => {
		const { details } = ok(await client.get<{ details: { leases: { paused: boolean } } }>("/health"));
		const metric = (await client.send("GET", "/metrics")).text.match(/^svc_leases_paused (\d)$/m)?.[1];
		return [details.leases.paused, metric];
	};
	assert.deepEqual(await paused(), [true, "1"]);
	assert.match(server.stderr(), /"leases\.paused".*svc lease resume/);
	const resume = async () =>
		ok(await client.post<{ message: string }>("/leases/resume", undefined, { token: admin.token })).message;
	const first = await resume();
	assert.notEqual(await resume(), first);
	assert.deepEqual(await paused(), [false, "0"]);
	await server.restart();
	client = api(server);
	assert.deepEqual(await paused(), [false, "0"]);
	assert.equal((await events(client, admin, "type=lease.resumed")).length, 1);
});

test("the worst day: on an empty machine, with the backup and the key alone, everything is there again", async () => {
	await server.stop();
	rmSync(server.data, { recursive: true });
	mkdirSync(server.data, { mode: 0o700 });
	cpSync(key, join(server.data, "master.key"));
	const { code, stderr } = await runLocal(server.data, ["restore", backup, "--yes"]);
	assert.equal(code, 0, stderr);
	await server.restart();
	client = api(server);
	assert.equal(await value(await login(client, admin)), "as it was");
});

test("a database next to the leftovers of a cut-off rotation of the master key is not replaced until a start has settled them", async () => {
	await server.stop();
	const staged = join(server.data, "master.key.next");
	writeFileSync(staged, `${"ab".repeat(32)}\n`, { mode: 0o400 });
	const before = contents(server.data);
	const replace = () => runLocal(server.data, ["restore", backup, "--replace", "--yes"]);
	const { code, stderr } = await replace();
	assert.equal(code, 1);
	assert.match(stderr, /\bmaster\.key\.next\b/);
	assert.deepEqual(contents(server.data), before);
	await server.restart();
	await server.stop();
	assert.equal((await replace()).code, 0);
});
