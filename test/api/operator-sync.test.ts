import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, type Person, person, realm, secret, unique } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	await person(client, "root");
	[alice, bob] = await Promise.all([person(client, "alice"), person(client, "bob")]);
});
after(() => server.close());

function sync(path: string, who = alice): Promise<Answer> {
	return client.get(`/eso/${path}`, { token: who.token });
}

/** The only error of the API that is not an error object. */
function missing(answer: Answer): void {
	assert.equal(answer.status, 404);
	assert.equal(answer.text, '{"error":"secret not found"}');
}

test("a secret is its value alone, from prod unless the environment is named", async () => {
	const { slug } = await realm(client, alice);
	await secret(client, alice, slug, "KEY", "of prod", { environment: "prod" });
	await secret(client, alice, slug, "KEY", "of dev");
	assert.deepEqual(ok(await sync(`${slug}/KEY`)), { value: "of prod" });
	assert.deepEqual(ok(await sync(`${slug}/KEY?env=dev`)), { value: "of dev" });
});

test("a secret that is missing in the environment is the plain string, whatever is missing", async () => {
	const { slug } = await realm(client, alice);
	await secret(client, alice, slug, "KEY", "of dev");
	missing(await sync(`${slug}/KEY`));
	missing(await sync(`${slug}/NOTHING?env=dev`));
	missing(await sync("no-such-realm/KEY"));
	missing(await sync(`${slug}/KEY?env=dev`, bob));
});

test("a realm is a map of every key to its value in that environment", async () => {
	const { slug } = await realm(client, alice);
	for (const [key, value] of [
		["ONE", "1"],
		["two/three", "2"],
		["__proto__", "3"],
		["constructor", "4"],
	] as const) {
		await secret(client, alice, slug, key, value, { environment: "prod" });
	}
	await secret(client, alice, slug, "DEV_ONLY", "of dev");
	const { data } = ok(await sync(slug)) as { data: Record<string, string> };
	assert.deepEqual(
		new Map(Object.entries(data)),
		new Map([
			["ONE", "1"],
			["two/three", "2"],
			["__proto__", "3"],
			["constructor", "4"],
		]),
	);
	assert.deepEqual(ok(await sync(`${slug}?env=dev`)), { data: { DEV_ONLY: "of dev" } });
});

test("an empty realm is an empty map, and an emptied one too", async () => {
	const { slug } = await realm(client, alice);
	assert.deepEqual(ok(await sync(slug)), { data: {} });
	await secret(client, alice, slug, "KEY", "a value", { environment: "prod" });
	ok(await client.delete(`/realms/${slug}/secrets/KEY?env=prod`, { token: alice.token }));
	assert.deepEqual(ok(await sync(slug)), { data: {} });
});

test("a realm that does not exist or that is foreign is not found, and never an empty map", async () => {
	const { slug } = await realm(client, alice);
	refused(await sync("no-such-realm"), 404, "not_found");
	refused(await sync(slug, bob), 404, "not_found");
});

test("a map is whole, however many secrets there are", async () => {
	const { slug } = await realm(client, alice);
	const keys = Array.from({ length: 120 }, () => unique("KEY"));
	await Promise.all(keys.map((key) => secret(client, alice, slug, key, `of ${key}`, { environment: "prod" })));
	assert.deepEqual(ok(await sync(slug)), { data: Object.fromEntries(keys.map((key) => [key, `of ${key}`])) });
	const limited = ok(await sync(`${slug}?limit=1`)) as { data: object };
	assert.equal(Object.keys(limited.data).length, keys.length);
});

test("pre-encrypted text is opened on both ways", async () => {
	const { slug } = await realm(client, alice);
	const encrypted = await client.post<{ ciphertext: string }>("/encrypt", { value: "plain" }, { token: alice.token });
	const more = { environment: "prod", pre_encrypted: true };
	await secret(client, alice, slug, "OURS", ok(encrypted).ciphertext, more);
	await secret(client, alice, slug, "FOREIGN", "svc:v1:foreign", more);
	assert.deepEqual(ok(await sync(`${slug}/OURS`)), { value: "plain" });
	assert.deepEqual(ok(await sync(slug)), { data: { OURS: "plain", FOREIGN: "svc:v1:foreign" } });
});

test("a viewer is served, and after its binding is removed it is not", async () => {
	const { slug } = await realm(client, alice);
	await secret(client, alice, slug, "KEY", "a value", { environment: "prod" });
	await bind(client, alice, slug, bob, "viewer");
	ok(await sync(`${slug}/KEY`, bob));
	ok(await sync(slug, bob));
	ok(await client.delete(`/realms/${slug}/policy/bindings/${bob.id}`, { token: alice.token }));
	missing(await sync(`${slug}/KEY`, bob));
	refused(await sync(slug, bob), 404, "not_found");
});

test("without a token both endpoints answer the error object", async () => {
	refused(await client.get("/eso/some-realm/KEY"), 401, "unauthorized");
	refused(await client.get("/eso/some-realm"), 401, "unauthorized");
});
