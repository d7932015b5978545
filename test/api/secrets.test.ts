import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Answer, type Api, api } from "../harness/client.ts";
import { fields, ok, recent, refused } from "../harness/expect.ts";
import { ending, type Person, person, realm, secretPath, unique } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const MAX_VALUE_BYTES = 262_144;

let server: Server;
let client: Api;
let alice: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
	slug = (await realm(client, alice)).slug;
});
after(() => server.close());

function set(key: string, body: object = {}): Promise<Answer<Secret>> {
	return client.post(`/realms/${slug}/secrets`, { key, value: "a value", ...body }, { token: alice.token });
}

function get(key: string, query = ""): Promise<Answer<Secret>> {
	return client.get(`${secretPath(slug, key)}${query}`, { token: alice.token });
}

function remove(key: string, query = ""): Promise<Answer> {
	return client.delete(`${secretPath(slug, key)}${query}`, { token: alice.token });
}

test("a secret is set in dev and read from dev unless the environment is named", async () => {
	const key = unique("KEY");
	const written = ok(await set(key), 201);
	fields(written, ["key", "environment", "version", "created_at", "updated_at"]);
	assert.partialDeepStrictEqual(written, { key, environment: "dev", version: 1 });
	recent(written.created_at);
	const read = ok(await get(key));
	const { updated_at } = written;
	assert.deepEqual(read, { key, value: "a value", environment: "dev", version: 1, updated_at });
	refused(await get(key, "?env=prod"), 404, "not_found");
});

test("environments hold a key each on its own", async () => {
	const key = unique("KEY");
	const environments = ["dev", "staging", "prod", "test"];
	for (const environment of environments) ok(await set(key, { environment, value: `of ${environment}` }), 201);
	ok(await set(key, { environment: "staging", value: "changed" }), 201);
	ok(await remove(key, "?env=test"));
	const values = await Promise.all(environments.map(async (env) => (await get(key, `?env=${env}`)).body));
	assert.deepEqual(
		values.map(({ value, version }) => [value, version]),
		[
			["of dev", 1],
			["changed", 2],
			["of prod", 1],
			[undefined, undefined],
		],
	);
});

test("a list holds the values of every environment, or of the one that is named", async () => {
	const { slug: own } = await realm(client, alice);
	const path = `/realms/${own}/secrets`;
	const { token } = alice;
	const list = async (query = ""): Promise<Secret[]> =>
		ok(await client.get<{ secrets: Secret[] }>(`${path}${query}`, { token })).secrets;
	assert.deepEqual(await list(), []);
	for (const environment of ["dev", "prod"]) {
		ok(await client.post(path, { key: "KEY", value: `of ${environment}`, environment }, { token }), 201);
	}
	const everything = await list();
	assert.deepEqual(new Set(everything.map(({ value }) => value)), new Set(["of dev", "of prod"]));
	const [prod, ...others] = await list("?env=prod");
	assert.ok(prod && others.length === 0);
	fields(prod, ["key", "value", "environment", "version", "updated_at"]);
	assert.partialDeepStrictEqual(prod, { key: "KEY", value: "of prod", environment: "prod", version: 1 });
	assert.deepEqual(await list("?env=test"), []);
});

test("a list without values names the secrets and their ends only", async () => {
	const ends = ["2090-01-31T00:00:00.000Z", null];
	for (const expires_at of ends) ok(await set(expires_at === null ? "NAMED" : "NAMED_ENDS", { expires_at }), 201);
	const list = (values: string) =>
		client.get<{ secrets: (Secret & { expires_at?: string | null })[] }>(`/realms/${slug}/secrets?values=${values}`, {
			token: alice.token,
		});
	const { secrets } = ok(await list("false"));
	for (const secret of secrets) fields(secret, ["key", "environment", "version", "updated_at", "expires_at"]);
	const named = secrets.filter(({ key }) => key.startsWith("NAMED"));
	assert.deepEqual(new Set(named.map(({ expires_at }) => expires_at)), new Set(ends));
	refused(await list("no"), 400, "validation_failed");
});

test("an environment of null means the default", async () => {
	assert.equal(ok(await set(unique("KEY"), { environment: null }), 201).environment, "dev");
});

test("setting an existing key again raises its version by one, with an equal value too", async () => {
	const key = unique("KEY");
	const first = ok(await set(key, { value: "one" }), 201);
	const second = ok(await set(key, { value: "two" }), 201);
	const third = ok(await set(key, { value: "two" }), 201);
	assert.deepEqual([first.version, second.version, third.version], [1, 2, 3]);
	assert.equal(third.created_at, first.created_at);
	assert.ok(Date.parse(third.updated_at) >= Date.parse(first.updated_at));
	assert.partialDeepStrictEqual(ok(await get(key)), { value: "two", version: 3, updated_at: third.updated_at });
});

test("a deleted secret is gone, and written again it continues counting", async () => {
	const key = unique("KEY");
	ok(await set(key), 201);
	const { created_at } = ok(await set(key), 201);
	assert.deepEqual(ok(await remove(key)), { message: "secret deleted" });
	refused(await get(key), 404, "not_found");
	refused(await remove(key), 404, "not_found");
	const again = ok(await set(key), 201);
	assert.equal(again.version, 3);
	assert.ok(Date.parse(again.created_at) >= Date.parse(created_at));
	assert.equal(again.created_at, again.updated_at);
});

for (const environment of ["", "production", "PROD", "Dev", " dev", "dev,prod", "*"]) {
	test(`the environment ${JSON.stringify(environment)} is refused wherever one is taken`, async () => {
		const key = unique("KEY");
		ok(await set(key), 201);
		refused(await set(key, { environment }), 400, "invalid_environment");
		const query = `?env=${encodeURIComponent(environment)}`;
		refused(await get(key, query), 400, "invalid_environment");
		refused(await remove(key, query), 400, "invalid_environment");
		for (const path of [
			`/realms/${slug}/secrets`,
			`${secretPath(slug, key)}/versions`,
			`/eso/${slug}/${key}`,
			`/eso/${slug}`,
		]) {
			refused(await client.get(`${path}${query}`, { token: alice.token }), 400, "invalid_environment");
		}
		const rollback = `${secretPath(slug, key)}/rollback${query}`;
		refused(await client.post(rollback, { version: 1 }, { token: alice.token }), 400, "invalid_environment");
	});
}

for (const [what, body, code] of [
	["no key", { key: undefined }, "missing_field"],
	["an empty key", { key: "" }, "missing_field"],
	["no value", { value: undefined }, "missing_field"],
	["a value of null", { value: null }, "missing_field"],
	["an empty value", { value: "" }, "missing_field"],
	["a value that is too long by one", { value: "v".repeat(MAX_VALUE_BYTES + 1) }],
	["a value with a lone surrogate", { value: "a\ud800b" }],
	["a comment of 1025 characters", { comment: "c".repeat(1025) }],
	["an expiry in the past", { expires_at: "2020-01-01T00:00:00Z" }],
	["an expiry without an offset", { expires_at: "2099-01-01T00:00:00" }],
	["an expiry without a time", { expires_at: "2099-01-01" }],
	["an expiry on a day that does not exist", { expires_at: "2099-02-30T00:00:00Z" }],
	["an expiry with a space for the T", { expires_at: "2099-01-01 00:00:00Z" }],
	["an expiry in Unix seconds", { expires_at: 4_070_908_800 }],
	["an empty expiry", { expires_at: "" }],
] as [string, object, string?][]) {
	test(`a secret with ${what} is refused`, async () => {
		refused(await set(unique("KEY"), body), 400, code);
	});
}

for (const [what, value] of [
	["one character", "x"],
	["spaces", "   "],
	["line ends of every kind", "a\r\nb\nc\rd\u2028e"],
	["NUL", "a\u0000b"],
	["a byte order mark", "\ufeffvalue\ufeff"],
	["uncomposed characters", "e\u0301"],
	["characters beyond the basic plane", "🔑👩‍👩‍👧‍👦"],
	["quotes and backslashes", "\"'\\\\n\\u0041"],
	["the prefix of ciphertext", "svc:v1:not ciphertext at all"],
	["the prefix alone", "svc:v1:"],
	["the greatest length", "v".repeat(MAX_VALUE_BYTES)],
] as const) {
	test(`a value of ${what} comes back byte for byte`, async () => {
		const key = unique("KEY");
		ok(await set(key, { value }), 201);
		assert.equal(ok(await get(key)).value, value);
	});
}

for (const expires_at of ["2099-01-01T00:00:00Z", "2099-01-01T00:00:00.123456Z", "2099-06-01T12:30:00+05:30", null]) {
	test(`the expiry ${String(expires_at)} is accepted`, async () => {
		ok(await set(unique("KEY"), { expires_at }), 201);
	});
}

test("a secret past its expiry is still served, and marked", async () => {
	const [fresh, stale] = [unique("KEY"), unique("KEY")];
	ok(await set(fresh, { expires_at: new Date(Date.now() + 3_600_000).toISOString() }), 201);
	assert.equal((await get(fresh)).headers["x-secret-expired"], undefined);
	const [, end_ms] = await ending((expires_at) => set(stale, { expires_at }));
	await pause(end_ms - Date.now() + 1);
	const answer = await get(stale);
	assert.equal(ok(answer).value, "a value");
	assert.equal(answer.headers["x-secret-expired"], "true");
});

test("unknown fields of a body are ignored", async () => {
	ok(await set(unique("KEY"), { unknown: { deep: [1] }, version: 77 }), 201);
});

test("everything about a secret of an unknown realm is not found", async () => {
	const unknown = "/realms/no-such-realm/secrets";
	const { token } = alice;
	refused(await client.post(unknown, { key: "KEY", value: "v" }, { token }), 404, "not_found");
	refused(await client.get(unknown, { token }), 404, "not_found");
	refused(await client.get(`${unknown}/KEY`, { token }), 404, "not_found");
	refused(await client.delete(`${unknown}/KEY`, { token }), 404, "not_found");
	refused(await client.get(`${unknown}/KEY/versions`, { token }), 404, "not_found");
	refused(await client.post(`${unknown}/KEY/rollback`, { version: 1 }, { token }), 404, "not_found");
});

test("a refused write leaves the secret as it was", async () => {
	const key = unique("KEY");
	ok(await set(key, { value: "kept" }), 201);
	refused(await set(key, { value: "lost", expires_at: "never" }), 400);
	refused(await set(key, { value: "lost", pre_encrypted: true }), 400, "invalid_ciphertext");
	assert.partialDeepStrictEqual(ok(await get(key)), { value: "kept", version: 1 });
});
