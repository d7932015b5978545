import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret, SecretVersion } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const VALID = [
	...["a", "Z", "0", "_", "-", "KEY", "key.with.dots", "a/b", "a/b/c", "db/main.password", "...", "a..b", "..a", "a.."],
	...["k".repeat(255), "__proto__", "constructor", "hasOwnProperty", "toString", "null", "versions", "rollback"],
	...["a/versions", "a/rollback", "versions/versions", "secrets", "..."],
];

const INVALID = [
	...[".", "..", "a/..", "../a", "a/../b", "./a", "a/.", "a/./b", "a b", " a", "a ", "a\n", "a\u0000", "a%2Fb", "a%"],
	...["é", "ключ", "🔑", "a:b", "a\\b", "a?b", "a#b", "a;b", "a&b", "a+b", "a*", "a'", 'a"', "<a>", "a@b", "$a", "~a"],
	...["k".repeat(256), "\uff41", "a\u200b", "\ufeffa", "\ud800"],
];

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

for (const key of new Set(VALID)) {
	test(`the key ${key.slice(0, 30)} is written, read, listed and deleted under exactly its name`, async () => {
		const { token } = alice;
		const value = `value of ${key}`;
		assert.equal((await secret(client, alice, slug, key, value, { environment: "prod" })).key, key);
		const path = secretPath(slug, key);
		assert.partialDeepStrictEqual(ok(await client.get<Secret>(`${path}?env=prod`, { token })), { key, value });
		const encoded = encodeURIComponent(key);
		assert.deepEqual(ok(await client.get(`/eso/${slug}/${encoded}`, { token })), { value });
		const { secrets } = ok(
			await client.get<{ secrets: Secret[] }>(`/realms/${slug}/secrets?limit=100&env=prod`, { token }),
		);
		assert.equal(secrets.find((one) => one.key === key)?.value, value);
		const history = await client.get<{ versions: SecretVersion[] }>(`${path}/versions?env=prod`, { token });
		assert.equal(ok(history).versions.length, 1);
		ok(await client.post(`${path}/rollback?env=prod`, { version: 1 }, { token }), 201);
		assert.deepEqual(ok(await client.delete(`${path}?env=prod`, { token })), { message: "secret deleted" });
		refused(await client.get(`${path}?env=prod`, { token }), 404, "not_found");
	});
}

for (const key of INVALID) {
	test(`the key ${JSON.stringify(key.slice(0, 30))} is refused`, async () => {
		const body = { key, value: "a value" };
		refused(await client.post(`/realms/${slug}/secrets`, body, { token: alice.token }), 400);
	});
}

for (const key of INVALID.filter((one) => !one.includes("\ud800"))) {
	test(`asking for the key ${JSON.stringify(key.slice(0, 30))} finds nothing`, async () => {
		for (const method of ["GET", "DELETE"]) {
			const answer = await client.send(method, `/api/v1${secretPath(slug, key)}`, { token: alice.token });
			assert.ok([400, 404].includes(answer.status), answer.text);
		}
	});
}

test("a slash in a key is sent as %2F, and a bare one leads elsewhere", async () => {
	const { token } = alice;
	await secret(client, alice, slug, "one/two", "a value");
	ok(await client.get(`/realms/${slug}/secrets/one%2Ftwo`, { token }));
	ok(await client.get(`/realms/${slug}/secrets/one%2ftwo`, { token }));
	refused(await client.get(`/realms/${slug}/secrets/one/two`, { token }), 404, "not_found");
	const twice = await client.get(`/realms/${slug}/secrets/one%252Ftwo`, { token });
	assert.ok([400, 404].includes(twice.status), twice.text);
});

test("keys that differ in case are different keys", async () => {
	await secret(client, alice, slug, "Case", "upper");
	await secret(client, alice, slug, "case", "lower");
	const read = async (key: string): Promise<string> =>
		ok(await client.get<Secret>(secretPath(slug, key), { token: alice.token })).value;
	assert.deepEqual([await read("Case"), await read("case")], ["upper", "lower"]);
});
