import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmdirSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, recent, refused } from "../harness/expect.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Backup {
	readonly name: string;
	readonly created_at: string;
	readonly bytes: number;
	readonly sha256: string;
	readonly fingerprint: string;
	readonly events: number;
}

let server: Server;
let client: Api;
let admin: Person;
let cli: Cli;
let folder: string;

before(async () => {
	server = await startServer({ env: { SVC_BACKUP_KEEP: "3" } });
	client = api(server);
	admin = await person(client, "admin");
	cli = await createCli(server, admin);
	folder = join(server.data, "backups");
});
after(async () => {
	await cli.close();
	await server.close();
});

const digestOf = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");
const make = async () => ok(await client.post<Backup>("/backups", undefined, { token: admin.token }), 201);
const list = async () => ok(await client.get<{ backups: Backup[] }>("/backups", { token: admin.token })).backups;
const metric = async (name: string) =>
	(await client.send("GET", "/metrics")).text.match(new RegExp(`^${name} (.*)$`, "m"))?.[1];

test("a server without a backup says so in its metrics and its list", async () => {
	assert.equal(await metric("svc_backup_newest_age_seconds"), "+Inf");
	assert.deepEqual(await list(), []);
	const { code, stderr } = await cli.run(["backup", "list"]);
	assert.equal(code, 0);
	assert.match(stderr, /`svc backup`/);
});

test("a backup has its name only when it is whole, private, and no draft is left", async () => {
	const { slug } = await realm(client, admin);
	await secret(client, admin, slug, "KEY", "a value");
	const backup = await make();
	const file = join(folder, backup.name);
	assert.match(backup.name, /^svc-\d{8}T\d{9}Z\.db$/);
	recent(backup.created_at);
	assert.deepEqual([backup.sha256, backup.bytes], [digestOf(file), statSync(file).size]);
	assert.match(server.stdout(), new RegExp(`fingerprint ${backup.fingerprint}`));
	assert.deepEqual(readdirSync(folder), [backup.name]);
	assert.deepEqual([statSync(folder).mode & 0o777, statSync(file).mode & 0o777], [0o700, 0o600]);
	assert.deepEqual(await list(), [backup]);
	assert.ok(Number(await metric("svc_backup_newest_age_seconds")) < 60);
});

test("the event of a backup is in the log that the backup holds", async () => {
	const backup = await make();
	const [event] = await events(client, admin, "type=backup.created");
	assert.equal(event?.data.name, backup.name);
	const text = readFileSync(join(folder, backup.name), "latin1");
	assert.ok(text.includes(`{"name":"${backup.name}"`), "the copy was taken after the event");
});

test("the oldest go when there are more than are kept, and what a killed server left goes, too", async () => {
	writeFileSync(join(folder, "svc-20200101T000000000Z.db.new"), "half");
	writeFileSync(join(folder, "notes.txt"), "of a person");
	const made = [await make(), await make(), await make()].map(({ name }) => name);
	assert.deepEqual(readdirSync(folder).sort(), ["notes.txt", ...made]);
	assert.deepEqual(
		(await list()).map(({ name }) => name),
		made.toReversed(),
	);
});

test("many backups in one day do not displace those of earlier days", async () => {
	const earlier = ["20200101", "20200102"].map((day) => `svc-${day}T000000000Z.db`);
	for (const name of earlier) writeFileSync(join(folder, name), "");
	await make();
	const { name } = await make();
	assert.deepEqual(readdirSync(folder).sort(), ["notes.txt", ...earlier, name]);
	for (const one of earlier) rmSync(join(folder, one));
});

test("backups that are asked for at once are made one after the other, and a seventeenth that waits is refused", async () => {
	const asked = Array.from({ length: 18 }, () => client.post<Backup>("/backups", undefined, { token: admin.token }));
	const answers = await Promise.all(asked);
	const made = answers.filter(({ status }) => status === 201).map((answer) => ok(answer, 201).name);
	assert.equal(new Set(made).size, 17);
	for (const answer of answers) if (answer.status !== 201) refused(answer, 429, "rate_limited");
});

test("svc backup makes one and says which key it needs; download fetches it, once, and compares it", async () => {
	const made = await cli.run(["backup"]);
	assert.equal(made.code, 0, made.stderr);
	assert.match(made.stdout, /^needs +.* [0-9a-f]{16}\b/m);
	const [backup] = await list();
	assert.ok(backup && made.stdout.includes(backup.name));
	const output = join(cli.home, "copy.db");
	const fetched = await cli.run(["backup", "download", backup.name, "--output", output, "--json"]);
	assert.equal(fetched.code, 0, fetched.stderr);
	assert.deepEqual(JSON.parse(fetched.stdout), { ...backup, file: output });
	assert.deepEqual([digestOf(output), statSync(output).mode & 0o777], [backup.sha256, 0o600]);
	const again = await cli.run(["backup", "download", backup.name, "--output", output]);
	assert.equal(again.code, 1);
	assert.match(again.stderr, /^svc: .*\bexists$/m);
	assert.equal((await events(client, admin, "type=backup.downloaded")).length, 1);
});

test("a backup that is not there is not found, whatever its name leads to", async () => {
	const names = [
		"svc-20200101T000000000Z.db",
		"notes.txt",
		"..%2Fsvc.db",
		"%2Fetc%2Fpasswd",
		"svc.db",
		"..%2Fmaster.key",
	];
	for (const name of names) refused(await client.get(`/backups/${name}`, { token: admin.token }), 404, "not_found");
	const { code, stderr } = await cli.run(["backup", "download", "svc-20200101T000000000Z.db"]);
	assert.equal(code, 4);
	assert.match(stderr, /^svc: backup svc-20200101T000000000Z\.db\b/);
	assert.ok(!existsSync("svc-20200101T000000000Z.db"));
});

test("a backup that cannot be read is missing in the list, and takes nothing else with it", async () => {
	const { name } = await make();
	const unreadable = "svc-20200101T000000000Z.db";
	mkdirSync(join(folder, unreadable));
	try {
		const names = (await list()).map((backup) => backup.name);
		assert.ok(names.includes(name) && !names.includes(unreadable));
		const answer = await client.get(`/backups/${unreadable}`, { token: admin.token });
		refused(answer, 503, "unhealthy");
		assert.match(answer.text, /\(EISDIR\): .*\bbackup\.directory\b/);
	} finally {
		rmdirSync(join(folder, unreadable));
	}
});

test("a folder of backups that cannot be read has no age in the metrics, and takes nothing else with it", async () => {
	const aside = `${folder}.aside`;
	renameSync(folder, aside);
	writeFileSync(folder, "a file");
	try {
		assert.equal(await metric("svc_backup_newest_age_seconds"), undefined);
		assert.ok(Number(await metric("svc_audit_events")) > 0);
		for (const path of ["/backups", "/backups/svc-20200101T000000000Z.db"])
			refused(await client.get(path, { token: admin.token }), 503, "unhealthy");
	} finally {
		rmSync(folder);
		renameSync(aside, folder);
	}
	assert.ok(Number(await metric("svc_backup_newest_age_seconds")) < 60);
});
