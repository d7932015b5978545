import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { fields, ok, recent, refused, sameRefusal, uuid } from "../harness/expect.ts";
import { bind, type Person, person, realm, secret, unique } from "../harness/fixtures.ts";
import type { Realm } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;
let carol: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	await person(client, "root");
	[alice, bob, carol] = await Promise.all([person(client, "alice"), person(client, "bob"), person(client, "carol")]);
});
after(() => server.close());

function create(body: object, who = alice): Promise<Answer<Realm>> {
	return client.post("/realms", { slug: unique("realm"), name: "A realm", ...body }, { token: who.token });
}

async function slugsOf(who: Person): Promise<string[]> {
	const { realms } = ok(await client.get<{ realms: Realm[] }>("/realms?limit=100", { token: who.token }));
	return realms.map(({ slug }) => slug);
}

test("a created realm is answered with all its fields and belongs to its maker", async () => {
	const slug = unique("made");
	const made = ok(await create({ slug, name: "Made", description: "What for" }), 201);
	fields(made, ["id", "slug", "name", "description", "user_id", "created_at"]);
	uuid(made.id);
	recent(made.created_at);
	assert.partialDeepStrictEqual(made, { slug, name: "Made", description: "What for", user_id: alice.id });
	assert.deepEqual(ok(await client.get(`/realms/${slug}`, { token: alice.token })), made);
});

for (const description of [undefined, null, ""]) {
	test(`a description of ${String(JSON.stringify(description))} is answered as an empty string`, async () => {
		assert.equal(ok(await create({ description }), 201).description, "");
	});
}

for (const slug of ["ab", "a1", "11", "a--b", "a-b-c", "x".repeat(50)]) {
	test(`the slug ${slug} is valid`, async () => {
		assert.equal(ok(await create({ slug }), 201).slug, slug);
	});
}

for (const slug of [
	...["a", "-ab", "ab-", "-", "Ab", "AB", "a_b", "a b", "a.b", "a/b", "é-è", "ab\n", "\nab", " ab", "ab ", "a\u0000b"],
	...["x".repeat(51), "\uff41\uff42", "a\u200bb", "..", "%61b"],
]) {
	test(`the slug ${JSON.stringify(slug)} is invalid`, async () => {
		refused(await create({ slug }), 400, "invalid_slug");
	});
}

for (const [what, body, code] of [
	["no slug", { slug: undefined }, "missing_field"],
	["a slug of null", { slug: null }, "missing_field"],
	["no name", { name: undefined }, "missing_field"],
	["an empty name", { name: "" }, "missing_field"],
	["a name of 256 characters", { name: "n".repeat(256) }],
	["a description of 2049 characters", { description: "d".repeat(2049) }],
] as [string, object, string?][]) {
	test(`a realm with ${what} is refused`, async () => {
		refused(await create(body), 400, code);
	});
}

test("the longest name and description come back whole", async () => {
	const [name, description] = ["n".repeat(255), "d".repeat(2048)];
	assert.partialDeepStrictEqual(ok(await create({ name, description }), 201), { name, description });
});

test("a slug is taken once for everybody", async () => {
	const { slug } = await realm(client, alice);
	refused(await create({ slug }), 409, "conflict");
	refused(await create({ slug }, bob), 409, "conflict");
});

test("the list holds the realms that are owned and those that are bound", async () => {
	const [owned, bound, foreign] = [await realm(client, bob), await realm(client, alice), await realm(client, alice)];
	await bind(client, alice, bound.slug, bob, "viewer");
	const { realms } = ok(await client.get<{ realms: Realm[] }>("/realms", { token: bob.token }));
	for (const { id, slug, name, created_at } of [owned, bound]) {
		assert.deepEqual(
			realms.find((one) => one.id === id),
			{ id, slug, name, created_at },
		);
	}
	assert.ok(!realms.some(({ id }) => id === foreign.id));
});

test("a realm that the caller is not in looks like one that does not exist", async () => {
	const { slug } = await realm(client, alice);
	const paths = ["", "/secrets", "/secrets/KEY", "/secrets/KEY/versions", "/policy/bindings"];
	for (const path of paths) {
		const foreign = await client.get(`/realms/${slug}${path}`, { token: carol.token });
		const unknown = await client.get(`/realms/no-such-realm${path}`, { token: carol.token });
		refused(foreign, 404, "not_found");
		sameRefusal(foreign, unknown);
	}
});

test("deleting a realm takes it and its contents from everybody", async () => {
	const { slug } = await realm(client, alice);
	await bind(client, alice, slug, bob, "admin");
	await secret(client, alice, slug, "KEY", "a value", { environment: "prod" });
	assert.deepEqual(ok(await client.delete(`/realms/${slug}`, { token: bob.token })), { message: "realm deleted" });
	for (const { token } of [alice, bob]) {
		for (const path of ["", "/secrets", "/secrets/KEY?env=prod", "/policy/bindings"]) {
			refused(await client.get(`/realms/${slug}${path}`, { token }), 404, "not_found");
		}
		const missing = await client.get(`/eso/${slug}/KEY`, { token });
		assert.deepEqual([missing.status, missing.text], [404, '{"error":"secret not found"}']);
		refused(await client.get(`/eso/${slug}`, { token }), 404, "not_found");
		refused(await client.delete(`/realms/${slug}`, { token }), 404, "not_found");
	}
	assert.ok(!(await slugsOf(alice)).includes(slug));
	assert.ok(!(await slugsOf(bob)).includes(slug));
});

test("a realm made again under a freed slug is another realm and has nothing of the old one", async () => {
	const old = await realm(client, alice);
	await bind(client, alice, old.slug, bob, "viewer");
	await secret(client, alice, old.slug, "KEY", "the old value");
	ok(await client.delete(`/realms/${old.slug}`, { token: alice.token }));
	const made = ok(await create({ slug: old.slug }, carol), 201);
	assert.notEqual(made.id, old.id);
	for (const { token } of [alice, bob]) {
		refused(await client.get(`/realms/${old.slug}/secrets`, { token }), 404, "not_found");
	}
	refused(await client.get(`/realms/${old.slug}/secrets/KEY`, { token: carol.token }), 404, "not_found");
	assert.equal((await secret(client, carol, old.slug, "KEY", "new")).version, 1);
});

test("deleting an unknown realm is not found, and a realm of others is forbidden", async () => {
	const { slug } = await realm(client, alice);
	refused(await client.delete("/realms/no-such-realm", { token: carol.token }), 404, "not_found");
	refused(await client.delete(`/realms/${slug}`, { token: carol.token }), 403, "forbidden");
	ok(await client.get(`/realms/${slug}`, { token: alice.token }));
});
