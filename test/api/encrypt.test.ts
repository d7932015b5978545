import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, secret, secretPath, unique } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

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

async function encrypt(value: string): Promise<string> {
	const answer = await client.post<{ ciphertext: string }>("/encrypt", { value }, { token: alice.token });
	return ok(answer).ciphertext;
}

async function storedAs(value: string, more: object): Promise<string> {
	const key = unique("KEY");
	await secret(client, alice, slug, key, value, more);
	return ok(await client.get<Secret>(secretPath(slug, key), { token: alice.token })).value;
}

test("a value becomes text that begins with svc:v1: and never the same twice", async () => {
	const answer = await client.post<{ ciphertext: string }>("/encrypt", { value: "secret" }, { token: alice.token });
	fields(ok(answer), ["ciphertext"]);
	assert.match(answer.body.ciphertext, /^svc:v1:[\w-]+$/);
	assert.notEqual(await encrypt("secret"), answer.body.ciphertext);
});

test("the text is base64url of suite 1, key id, nonce, ciphertext and tag", async () => {
	const sealed = Buffer.from((await encrypt("secret")).slice("svc:v1:".length), "base64url");
	assert.equal(sealed[0], 1);
	assert.equal(sealed.length, 1 + 8 + 24 + "secret".length + 16);
});

for (const [what, value] of [
	["plain text", "secret"],
	["many bytes", "v".repeat(190_000)],
	["unicode and NUL", "\ufeffключ\u0000🔑e\u0301"],
	["text that looks encrypted", "svc:v1:abc"],
] as const) {
	test(`${what}, stored pre-encrypted, is read as it was before`, async () => {
		assert.equal(await storedAs(await encrypt(value), { pre_encrypted: true }), value);
	});
}

test("ciphertext that is stored as a plain value is read as ciphertext", async () => {
	const ciphertext = await encrypt("secret");
	for (const more of [{}, { pre_encrypted: false }, { pre_encrypted: null }]) {
		assert.equal(await storedAs(ciphertext, more), ciphertext);
	}
});

test("pre-encrypted text that does not open is stored and read as it is", async () => {
	const ours = await encrypt("secret");
	const middle = ours.length >> 1;
	const flipped = `${ours.slice(0, middle)}${ours[middle] === "A" ? "B" : "A"}${ours.slice(middle + 1)}`;
	const foreign = [
		"svc:v1:",
		"svc:v1:from-elsewhere",
		"svc:v1:not base64 at all!",
		`${ours}A`,
		ours.slice(0, -1),
		flipped,
	];
	for (const text of foreign) assert.equal(await storedAs(text, { pre_encrypted: true }), text);
});

for (const value of ["plain text", "svc:v2:abc", "SVC:V1:abc", " svc:v1:abc", "svc:v1"]) {
	test(`pre-encrypted text that reads ${JSON.stringify(value)} is refused`, async () => {
		const body = { key: unique("KEY"), value, pre_encrypted: true };
		const answer = await client.post(`/realms/${slug}/secrets`, body, { token: alice.token });
		refused(answer, 400, "invalid_ciphertext");
	});
}

for (const [what, body] of [
	["no value", {}],
	["a value of null", { value: null }],
	["an empty value", { value: "" }],
] as const) {
	test(`encrypting ${what} is refused`, async () => {
		refused(await client.post("/encrypt", body, { token: alice.token }), 400, "missing_field");
	});
}

test("ciphertext opens after a restart", async () => {
	const ciphertext = await encrypt("kept");
	await server.restart();
	assert.equal(await storedAs(ciphertext, { pre_encrypted: true }), "kept");
});
