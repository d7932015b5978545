import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { fields, ok, recent, refused } from "../harness/expect.ts";
import {
	bind,
	machine,
	machineToken,
	type Person,
	person,
	realm,
	secret,
	secretPath,
	unique,
} from "../harness/fixtures.ts";
import type { Secret, SecretVersion } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const KEPT = 20;
/** A machine that may write. */
const WRITER = { role: "member", scopes: "read,write" };

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
	bob = await person(client, "bob");
	slug = (await realm(client, alice)).slug;
	await bind(client, alice, slug, bob, "member");
});
after(() => server.close());

/** Writes `value 1` to `value count` under a new key and returns the key. */
async function written(count: number, environment = "dev"): Promise<string> {
	const key = unique("KEY");
	for (let version = 1; version <= count; version += 1) {
		await secret(client, alice, slug, key, `value ${version}`, { environment, comment: `comment ${version}` });
	}
	return key;
}

async function versions(key: string, query = ""): Promise<SecretVersion[]> {
	const path = `${secretPath(slug, key)}/versions?limit=100${query}`;
	return ok(await client.get<{ versions: SecretVersion[] }>(path, { token: alice.token })).versions;
}

function numbers(list: readonly SecretVersion[]): number[] {
	return list.map(({ version }) => version).sort((a, b) => a - b);
}

function read(key: string, version: number | string, environment = "dev"): Promise<Answer<Secret>> {
	return client.get(`${secretPath(slug, key)}?version=${version}&env=${environment}`, { token: alice.token });
}

function rollback(key: string, body: object, query = ""): Promise<Answer<Secret>> {
	return client.post(`${secretPath(slug, key)}/rollback${query}`, body, { token: alice.token });
}

test("with names=true, each version names its author, unless that account or machine is gone", async () => {
	const key = await written(1);
	const [lasting, gone] = [await machine(client, alice, slug, WRITER), await machine(client, alice, slug, WRITER)];
	for (const { name } of [lasting, gone]) {
		const { token } = await machineToken(client, alice, slug, name);
		ok(
			await client.post(`/realms/${slug}/secrets`, { key, environment: "dev", value: "of a machine" }, { token }),
			201,
		);
	}
	ok(await client.delete(`/realms/${slug}/machines/${gone.name}`, { token: alice.token }));
	const named = await versions(key, "&names=true");
	const { name } = ok(await client.get<{ name: string }>("/auth/whoami", { token: alice.token }));
	assert.deepEqual(
		named.map(({ version, created_by, created_at: _, comment: __, expires_at: ___, ...names }) => [
			version,
			created_by,
			names,
		]),
		[
			[3, gone.id, {}],
			[2, lasting.id, { machine: `${slug}/${lasting.name}` }],
			[1, alice.id, { email: alice.email, name }],
		],
	);
	refused(
		await client.get(`${secretPath(slug, key)}/versions?names=yes`, { token: alice.token }),
		400,
		"validation_failed",
	);
});

test("a write with if_version is refused unless that version is current", async () => {
	const key = await written(1);
	const set = (if_version: unknown, name = key) =>
		client.post<Secret>(`/realms/${slug}/secrets`, { key: name, value: "next", if_version }, { token: alice.token });
	for (const other of [2, null]) {
		const answer = await set(other);
		refused(answer, 409, "conflict");
		assert.match(answer.text, /`svc secret history`/);
	}
	assert.equal(ok(await set(1), 201).version, 2);
	refused(await set(1), 409, "conflict");
	assert.equal(ok(await set(undefined), 201).version, 3);
	assert.equal(ok(await set(null, unique("NEW")), 201).version, 1);
	for (const odd of [0, -1, 1.5, "1"]) refused(await set(odd), 400, "validation_failed");
	const both = await Promise.all([set(3), set(3)]);
	assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409], "of two at once, one");
});

test("every version is listed with its time, author and comment, and without its value", async () => {
	const key = await written(2);
	await secret(client, bob, slug, key, "of bob");
	const list = await versions(key);
	assert.deepEqual(numbers(list), [1, 2, 3]);
	for (const entry of list) {
		fields(entry, ["version", "created_at", "created_by", "comment", "expires_at"]);
		recent(entry.created_at);
	}
	const author = (number: number): unknown[] => {
		const { created_by, comment } = list.find(({ version }) => version === number) ?? {};
		return [created_by, comment];
	};
	assert.deepEqual(
		[author(2), author(3)],
		[
			[alice.id, "comment 2"],
			[bob.id, ""],
		],
	);
});

test("an earlier version is read by its number", async () => {
	const key = await written(3);
	for (const version of [1, 2, 3]) {
		const answer = ok(await read(key, version));
		fields(answer, ["key", "value", "environment", "version", "updated_at"]);
		assert.partialDeepStrictEqual(answer, { key, version, value: `value ${version}`, environment: "dev" });
	}
});

test("the last 20 versions are kept and older ones are gone permanently", async () => {
	const key = await written(KEPT + 3);
	const kept = Array.from({ length: KEPT }, (_, index) => index + 4);
	assert.deepEqual(numbers(await versions(key)), kept);
	assert.equal(ok(await read(key, 4)).value, "value 4");
	refused(await read(key, 3), 404, "not_found");
	refused(await rollback(key, { version: 3 }), 404, "not_found");
});

test("a rollback writes the old value as a new version", async () => {
	const key = await written(3);
	const { created_at } = ok(await rollback(key, { version: 3 }), 201);
	const answer = ok(await rollback(key, { version: 1 }), 201);
	fields(answer, ["key", "environment", "version", "created_at", "updated_at"]);
	assert.partialDeepStrictEqual(answer, { key, environment: "dev", version: 5, created_at });
	const now = ok(await client.get<Secret>(secretPath(slug, key), { token: alice.token }));
	assert.partialDeepStrictEqual(now, { value: "value 1", version: 5 });
	assert.deepEqual(numbers(await versions(key)), [1, 2, 3, 4, 5]);
});

test("history, reading and rollback are of one environment", async () => {
	const key = await written(2, "prod");
	await secret(client, alice, slug, key, "of dev");
	assert.deepEqual(numbers(await versions(key)), [1]);
	assert.deepEqual(numbers(await versions(key, "&env=prod")), [1, 2]);
	assert.equal(ok(await read(key, 2, "prod")).value, "value 2");
	refused(await read(key, 2), 404, "not_found");
	refused(await rollback(key, { version: 2 }), 404, "not_found");
	assert.equal(ok(await rollback(key, { version: 1 }, "?env=prod"), 201).version, 3);
});

for (const version of ["abc", "1.5", "-1", "0", "", "1e3", "99999999999999999999", "0x1", " 1"]) {
	test(`reading version ${JSON.stringify(version)} is refused or not found`, async () => {
		const key = await written(1);
		const answer = await read(key, encodeURIComponent(version));
		assert.ok([400, 404].includes(answer.status), answer.text);
	});
}

for (const [what, body, status] of [
	["no version", {}, 400],
	["a version of null", { version: null }, 400],
	["a version that is text", { version: "1" }, 400],
	["a version that is no integer", { version: 1.5 }, 400],
	["a version that never was", { version: 99 }, 404],
] as const) {
	test(`a rollback to ${what} is refused and writes nothing`, async () => {
		const key = await written(1);
		refused(await rollback(key, body), status);
		assert.deepEqual(numbers(await versions(key)), [1]);
	});
}

test("history and rollback of a key that does not exist are not found", async () => {
	refused(await client.get(`${secretPath(slug, "NOTHING")}/versions`, { token: alice.token }), 404, "not_found");
	refused(await rollback("NOTHING", { version: 1 }), 404, "not_found");
});

test("the history of a deleted secret is gone and does not come back with the key", async () => {
	const key = await written(2);
	ok(await client.delete(secretPath(slug, key), { token: alice.token }));
	refused(await client.get(`${secretPath(slug, key)}/versions`, { token: alice.token }), 404, "not_found");
	refused(await read(key, 1), 404, "not_found");
	refused(await rollback(key, { version: 1 }), 404, "not_found");
	await secret(client, alice, slug, key, "again");
	assert.deepEqual(numbers(await versions(key)), [3]);
	refused(await read(key, 2), 404, "not_found");
});
