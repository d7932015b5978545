import assert from "node:assert/strict";
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { newest } from "../harness/events.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

interface Key {
	readonly id: string;
	readonly purpose: string;
	readonly state: string;
	readonly created_at: string;
}

interface Status {
	readonly master: { fingerprint: string; origin: string; file: string; next: string };
	readonly keys: Key[];
	readonly realm_keys: { active: number; retired: number };
}

interface Rotation {
	readonly id: string;
	readonly previous: string;
	readonly message: string;
}

const PURPOSES = ["checkpoint", "cursor", "portable", "record", "session"];
/** Its rotation has tests of its own: test/faults/row-keys.test.ts. */
const ROWS = "rows";

let server: Server;
let client: Api;
let root: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	slug = (await realm(client, root)).slug;
	await secret(client, root, slug, "KEY", "a value");
});
after(() => server.close());

const asRoot = () => ({ token: root.token });
const status = async (query = "") => ok(await client.get<Status>(`/keys${query}`, asRoot()));
const rotate = (body: object) => client.post<Rotation>("/keys/rotate", body, asRoot());
const active = ({ keys }: Status) => keys.filter(({ state }) => state === "active");

async function assertReadable(): Promise<void> {
	assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEY"), asRoot())).value, "a value");
}

test("the status names the master key and each key of the instance, and shows none of them", async () => {
	const answer = await client.get<Status>("/keys", asRoot());
	const { master, keys, realm_keys } = ok(answer);
	assert.match(master.fingerprint, /^[0-9a-f]{16}$/);
	assert.deepEqual([master.origin, master.file, master.next], ["file", join(server.data, "master.key"), ""]);
	assert.deepEqual(
		keys.map(({ purpose }) => purpose),
		[...PURPOSES, ROWS].toSorted((a, b) => (a < b ? -1 : 1)),
	);
	for (const key of keys) fields(key, ["id", "purpose", "state", "created_at"]);
	assert.equal(realm_keys.active, 1);
	assert.ok(!answer.text.includes((await readFile(master.file, "utf8")).trim()));
	assert.deepEqual(
		(await status(`?realm=${slug}`)).keys.map(({ purpose, state }) => [purpose, state]),
		[["record", "active"]],
	);
	refused(await client.get("/keys?realm=nowhere", asRoot()), 404, "not_found");
});

for (const purpose of PURPOSES) {
	test(`a new ${purpose} key takes over from the one before, and what that one did stays good`, async () => {
		const sealed = ok(await client.post<{ ciphertext: string }>("/encrypt", { value: "text" }, asRoot()));
		const before = await status();
		const rotated = ok(await rotate({ purpose }));
		const { keys } = await status();
		const one = keys.filter((key) => key.purpose === purpose && key.state === "active");
		assert.deepEqual(
			one.map(({ id }) => id),
			[rotated.id],
		);
		assert.equal(keys.length, before.keys.length + 1);
		assert.deepEqual(
			active(before).filter((key) => key.purpose !== purpose),
			active({ ...before, keys }).filter((key) => key.purpose !== purpose),
		);
		await secret(client, root, slug, "SEALED", sealed.ciphertext, { pre_encrypted: true });
		assert.equal(ok(await client.get<Secret>(secretPath(slug, "SEALED"), asRoot())).value, "text");
		await assertReadable();
		const event = await newest(client, root, "key.rotated");
		assert.partialDeepStrictEqual(event?.data, { purpose, key_id: rotated.id });
	});
}

test("a cursor ends with its key, and the checkpoints of an older one still count", async () => {
	const page = ok(await client.get<{ pagination: { next_cursor: string } }>("/audit/events?limit=1", asRoot()));
	ok(await rotate({ purpose: "cursor" }));
	refused(
		await client.get(`/audit/events?limit=1&cursor=${page.pagination.next_cursor}`, asRoot()),
		400,
		"invalid_cursor",
	);
	await server.restart();
	ok(await rotate({ purpose: "checkpoint" }));
	const verified = ok(await client.get<{ status: string; checkpoints: number }>("/audit/verify", asRoot()));
	assert.deepEqual([verified.status, verified.checkpoints > 0], ["intact", true]);
});

test("a realm's record key is replaced alone, and its older values stay readable, also after a restart", async () => {
	const before = await status(`?realm=${slug}`);
	const { id } = ok(await rotate({ purpose: "record", realm: slug }));
	const { keys, realm_keys } = await status(`?realm=${slug}`);
	assert.deepEqual(
		keys.map((key) => [key.id, key.state]),
		[
			[before.keys[0]?.id, "retired"],
			[id, "active"],
		],
	);
	assert.deepEqual(realm_keys, { active: 1, retired: 1 });
	assert.equal((await newest(client, root, "key.rotated"))?.realm, slug);
	await assertReadable();
	await server.restart();
	await assertReadable();
});

test("keys that cannot be rotated are refused", async () => {
	refused(await rotate({ purpose: "record", realm: "nowhere" }), 404, "not_found");
	refused(await rotate({ purpose: "portable", realm: slug }), 400, "validation_failed");
	refused(await rotate({ purpose: "master", realm: slug }), 400, "validation_failed");
	refused(await rotate({ purpose: "everything" }), 400, "validation_failed");
	refused(await rotate({}), 400, "missing_field");
});

test("a master key in a file is replaced in that file, and the answer names both", async () => {
	const { master } = await status();
	const old = await readFile(master.file, "utf8");
	const { id, previous, message } = ok(await rotate({ purpose: "master" }));
	assert.equal(previous, master.fingerprint);
	assert.notEqual(id, previous);
	for (const part of [id, previous, master.file]) assert.ok(message.includes(part), message);
	assert.deepEqual((await status()).master, { ...master, fingerprint: id });
	assert.notEqual(await readFile(master.file, "utf8"), old);
	assert.deepEqual(
		(await readdir(server.data)).filter((name) => name.startsWith("master.key")),
		["master.key"],
	);
	await assertReadable();
	const { data } = (await newest(client, root, "key.rotated")) ?? {};
	assert.partialDeepStrictEqual(data, { purpose: "master", from: previous, to: id });
	const backup = ok(await client.post<{ fingerprint: string }>("/backups", undefined, asRoot()), 201);
	assert.equal(backup.fingerprint, id, "a backup says which key it needs");
	await server.restart();
	await assertReadable();
	assert.equal((await status()).master.fingerprint, id);
});

test("a master key from elsewhere is replaced by the one that was given beforehand, and only by it", async () => {
	const present = await readFile(join(server.data, "master.key"), "utf8");
	const file = join(server.data, "next.key");
	await server.stop();
	await rm(join(server.data, "master.key"));
	await server.restart({ SVC_MASTER_KEY: present.trim(), SVC_NEXT_MASTER_KEY_FILE: file });
	const answer = await rotate({ purpose: "master" });
	refused(answer, 409, "conflict");
	assert.match(answer.text, /next_master_key_file/);
	await writeFile(file, "no key\n", { mode: 0o400 });
	refused(await rotate({ purpose: "master" }), 409, "conflict");
	refused(await client.get("/keys", asRoot()), 409, "conflict");
	await chmod(file, 0o600);
	await writeFile(file, "5a".repeat(32));
	const { next } = (await status()).master;
	const { id } = ok(await rotate({ purpose: "master" }));
	assert.equal(id, next);
	assert.deepEqual((await status()).master, { fingerprint: id, origin: "file", file, next: "" });
	refused(await rotate({ purpose: "master" }), 409, "conflict");
	await assertReadable();
	await server.restart();
	await assertReadable();
	assert.match(server.stderr(), /next master key/);
	await server.restart({ SVC_MASTER_KEY: "5a".repeat(32) });
	assert.deepEqual((await status()).master, { fingerprint: id, origin: "environment", file: "", next: "" });
	await assertReadable();
});
