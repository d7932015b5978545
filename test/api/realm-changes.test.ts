import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import type { Realm } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let alice: Person;
let bob: Person;
let carol: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	[alice, bob, carol] = await Promise.all([person(client, "alice"), person(client, "bob"), person(client, "carol")]);
});
after(() => server.close());

const change = (slug: string, body: object, { token }: { token: string } = alice): Promise<Answer<Realm>> =>
	client.send<Realm>("PUT", `/api/v1/realms/${slug}`, { token, raw: JSON.stringify(body) });
const read = (slug: string, { token }: Person) => client.get<Realm>(`/realms/${slug}`, { token });

/** Checks that the rows are what the log says. */
async function verified(): Promise<void> {
	const { token } = root;
	const { differences, strange } = ok(
		await client.get<{ differences: unknown[]; strange: unknown[] }>("/audit/verify", { token }),
	);
	assert.deepEqual([differences, strange], [[], []]);
}

/** A realm of alice of which bob is an admin. */
async function heritage(): Promise<Realm> {
	const made = await realm(client, alice);
	await bind(client, alice, made.slug, bob, "admin");
	return made;
}

test("the owner changes name and description, each alone or both", async () => {
	const made = await realm(client, alice);
	const { slug } = made;
	assert.deepEqual(ok(await change(slug, { name: "New" })), { ...made, name: "New" });
	assert.deepEqual(ok(await change(slug, { description: "Why" })), { ...made, name: "New", description: "Why" });
	ok(await change(slug, { name: "Last", description: "" }));
	assert.deepEqual(ok(await read(slug, alice)), { ...made, name: "Last", description: "" });
	const recorded = await events(client, alice, `realm=${slug}&type=realm.updated`);
	const changed = recorded.map(({ actor, data }) => [actor, data.changed]);
	assert.deepEqual(
		changed,
		["name,description", "description", "name"].map((fields) => [alice.id, fields]),
	);
	await verified();
});

test("an empty change and an invalid name are refused", async () => {
	const { slug } = await realm(client, alice);
	refused(await change(slug, {}), 400, "missing_field");
	for (const body of [{ name: "" }, { owner: "" }]) refused(await change(slug, body), 400, "missing_field");
	for (const body of [{ name: "n".repeat(256) }, { description: "d".repeat(2049) }, { slug: "other" }, { name: 5 }])
		refused(await change(slug, body), 400);
});

test("an admin who does not own the realm changes nothing; outsiders get 404", async () => {
	const { slug } = await heritage();
	refused(await change(slug, { name: "Mine" }, bob), 403, "forbidden");
	refused(await change(slug, { owner: bob.email }, bob), 403, "forbidden");
	sameRefusal(await change(slug, { name: "Mine" }, carol), await change("no-such-realm", { name: "Mine" }, carol));
	refused(await change(slug, { name: "Mine" }, root), 404, "not_found");
	const recorded = await events(client, alice, `realm=${slug}&type=access.denied`);
	assert.deepEqual(
		recorded.map(({ actor }) => actor),
		[root.id, carol.id, bob.id, bob.id],
	);
	const { token } = await apiToken(client, alice, "read,write,delete");
	refused(await change(slug, { name: "Mine" }, { token }), 400, "unsupported_operation");
});

for (const by of ["id", "email"] as const) {
	test(`the owner gives the realm to one of its admins, by ${by}, and stays as an admin`, async () => {
		const { slug } = await heritage();
		await secret(client, alice, slug, "KEY", "a value");
		const given = ok(await change(slug, { owner: by === "id" ? bob.id : bob.email.toUpperCase() }));
		assert.equal(given.user_id, bob.id);
		const path = `/realms/${slug}/policy/bindings`;
		const { bindings } = ok(
			await client.get<{ bindings: { user_id: string; role: string }[] }>(path, { token: bob.token }),
		);
		assert.deepEqual(
			bindings.map(({ user_id, role }) => [user_id, role]),
			[[alice.id, "admin"]],
		);
		ok(await client.get(`/realms/${slug}/secrets/KEY`, { token: bob.token }));
		refused(await change(slug, { name: "Back" }), 403, "forbidden");
		ok(await change(slug, { name: "Bob's" }, bob));
		const [recorded] = await events(client, bob, `realm=${slug}&type=realm.transferred`);
		const { owner, was, kept_role } = recorded?.data ?? {};
		assert.deepEqual([owner, was, kept_role], [bob.id, alice.id, "admin"]);
		ok(await client.delete(`${path}/${alice.id}`, { token: bob.token }));
		refused(await read(slug, alice), 404);
		await verified();
	});
}

test("the new owner must be an enabled admin of the realm other than the owner", async () => {
	const { slug } = await heritage();
	const disabled = await person(client, "disabled");
	await bind(client, alice, slug, disabled, "admin");
	await bind(client, alice, slug, carol, "member");
	ok(await client.post(`/users/${disabled.id}/disable`, undefined, { token: root.token }));
	for (const { id } of [carol, disabled, root]) refused(await change(slug, { owner: id }), 409, "conflict");
	for (const owner of ["nobody@example.test", "nobody"]) refused(await change(slug, { owner }), 409, "conflict");
	assert.equal(ok(await change(slug, { owner: alice.id, name: "Still hers" })).user_id, alice.id);
	assert.deepEqual(await events(client, alice, `realm=${slug}&type=realm.transferred`), []);
});

test("the instance admin gives away the realm of a disabled owner, who keeps no role in it", async () => {
	const gone = await person(client, "gone");
	const { slug } = await realm(client, gone);
	await bind(client, gone, slug, bob, "admin");
	refused(await change(slug, { owner: bob.id }, root), 404, "not_found");
	ok(await client.post(`/users/${gone.id}/disable`, undefined, { token: root.token }));
	const { token } = await apiToken(client, root, "read,write,delete");
	refused(await change(slug, { owner: bob.id }, { token }), 400, "unsupported_operation");
	refused(await change(slug, { owner: root.id }, root), 409, "conflict");
	assert.equal(ok(await change(slug, { owner: bob.id }, root)).user_id, bob.id);
	refused(await change(slug, { name: "Root's" }, root), 404, "not_found");
	ok(await client.post(`/users/${gone.id}/enable`, undefined, { token: root.token }));
	const back = await client.post<{ token: string }>("/auth/login", { email: gone.email, password: gone.password });
	refused(await read(slug, { ...gone, token: ok(back).token }), 404, "not_found");
	await verified();
});

test("an owner fills at most half of another's realms", async () => {
	const heir = await person(client, "heir");
	const raw = JSON.stringify({ realms: 4 });
	ok(await client.send("PUT", `/api/v1/users/${heir.id}/limits`, { token: root.token, raw }));
	const give = async () => {
		const { slug } = await realm(client, alice);
		await bind(client, alice, slug, heir, "admin");
		return change(slug, { owner: heir.email });
	};
	ok(await give());
	ok(await give());
	refused(await give(), 409, "limit_reached");
	await realm(client, heir);
	await realm(client, heir);
	refused(await client.post("/realms", { slug: "one-more", name: "One more" }, { token: heir.token }), 409);
});
