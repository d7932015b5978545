import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import {
	apiToken,
	bind,
	machine,
	machineToken,
	type Person,
	person,
	realm,
	secret,
	unique,
} from "../harness/fixtures.ts";
import type { Realm } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let alice: Person;
let bob: Person;
let carol: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	[alice, bob, carol] = await Promise.all([person(client, "alice"), person(client, "bob"), person(client, "carol")]);
	slug = (await realm(client, alice)).slug;
	await secret(client, alice, slug, "KEY", "a value", { comment: "a telling comment" });
	await bind(client, alice, slug, bob, "viewer");
});
after(() => server.close());

test("everybody with a role sees all events of the realm", async () => {
	ok(await client.get(`/realms/${slug}/secrets/KEY`, { token: bob.token }));
	for (const who of [alice, bob]) {
		const seen = await events(client, who, `realm=${slug}`);
		const types = new Set(seen.map(({ type, actor }) => `${type} ${actor}`));
		assert.ok(types.has(`secret.set ${alice.id}`));
		assert.ok(types.has(`secret.read ${bob.id}`));
		assert.ok(seen.every((event) => event.realm === slug));
	}
});

test("strangers and the instance admin see nothing of the realm", async () => {
	for (const who of [carol, root]) {
		const seen = await events(client, who);
		assert.deepEqual(
			seen.filter((event) => event.realm === slug && event.actor !== who.id),
			[],
		);
	}
});

test("asking for the events of a foreign realm is answered as for an unknown one", async () => {
	const foreign = await client.get(`/audit/events?realm=${slug}`, { token: carol.token });
	const unknown = await client.get("/audit/events?realm=no-such-realm", { token: carol.token });
	assert.ok([200, 404].includes(foreign.status));
	sameRefusal(foreign, unknown);
});

test("a user who loses a role sees no more of the realm than their own events", async () => {
	const { slug: other } = await realm(client, alice);
	await bind(client, alice, other, carol, "admin");
	await secret(client, alice, other, "KEY", "a value");
	assert.ok((await events(client, carol)).some(({ realm: where, actor }) => where === other && actor === alice.id));
	ok(await client.delete(`/realms/${other}/policy/bindings/${carol.id}`, { token: alice.token }));
	const seen = (await events(client, carol)).filter(({ realm: where }) => where === other);
	assert.deepEqual(
		seen.filter(({ actor }) => actor !== carol.id),
		[],
	);
});

test("events without a realm are seen by their actor and by the instance admin", async () => {
	const ofAlice = (list: { actor: string; realm: string }[]): number =>
		list.filter(({ actor, realm: where }) => actor === alice.id && where === "").length;
	assert.ok(ofAlice(await events(client, alice)) > 0);
	assert.ok(ofAlice(await events(client, root)) > 0);
	assert.equal(ofAlice(await events(client, bob)), 0);
});

test("the deletion of a realm is seen by its actor and the instance admin, and its past by nobody", async () => {
	const { slug: doomed } = await realm(client, alice);
	await bind(client, alice, doomed, bob, "admin");
	await secret(client, bob, doomed, "KEY", "a value");
	ok(await client.delete(`/realms/${doomed}`, { token: alice.token }));
	const seen = async (who: Person): Promise<string[]> =>
		(await events(client, who))
			.filter(({ realm: where, actor, type }) => where === doomed && (actor !== who.id || type === "realm.deleted"))
			.map(({ type }) => type);
	assert.deepEqual(await seen(alice), ["realm.deleted"]);
	assert.deepEqual(await seen(root), ["realm.deleted"]);
	assert.deepEqual(await seen(bob), []);
});

test("a realm made again under an old slug does not show what happened in the old one", async () => {
	const { slug: reused } = await realm(client, alice);
	await secret(client, alice, reused, "OLD", "a value");
	ok(await client.delete(`/realms/${reused}`, { token: alice.token }));
	ok(await client.post<Realm>("/realms", { slug: reused, name: "New" }, { token: carol.token }), 201);
	const seen = await events(client, carol, `realm=${reused}`);
	assert.deepEqual(
		seen.map(({ type, actor }) => [type, actor]),
		[["realm.created", carol.id]],
	);
});

test("the filters by type, realm, actor's id and actor's e-mail narrow the list, alone and together", async () => {
	const filters = [
		["type=secret.set", (event: { type: string }) => event.type === "secret.set"],
		[`realm=${slug}`, (event: { realm: string }) => event.realm === slug],
		[`actor=${bob.id}`, (event: { actor: string }) => event.actor === bob.id],
		[`actor=${encodeURIComponent(bob.email)}`, (event: { actor: string }) => event.actor === bob.id],
		[
			`actor=${encodeURIComponent(` ${alice.email.toUpperCase()}`)}`,
			(event: { actor: string }) => event.actor === alice.id,
		],
	] as const;
	const all = await events(client, alice);
	for (const [query, matches] of filters) {
		const expected = all.filter(matches).map(({ id }) => id);
		assert.deepEqual(
			(await events(client, alice, query)).map(({ id }) => id),
			expected,
			query,
		);
	}
	const both = await events(client, alice, `realm=${slug}&actor=${alice.id}&type=secret.set`);
	assert.deepEqual(
		both.map(({ type, actor, realm: where }) => [type, actor, where]),
		[["secret.set", alice.id, slug]],
	);
});

test("both filters take a machine's id or realm/name", async () => {
	const { id, name } = await machine(client, alice, slug, { scopes: "read" });
	const { token } = await machineToken(client, alice, slug, name);
	ok(await client.get(`/realms/${slug}/secrets`, { token }));
	const queries = ["actor", "machine"].flatMap((filter) =>
		[id, `${slug}/${name}`].map((value) => `${filter}=${encodeURIComponent(value)}`),
	);
	for (const query of [...queries, `actor=${id}&machine=${slug}/${name}`]) {
		const found = await events(client, alice, query);
		assert.deepEqual(
			found.map(({ type, actor, data }) => [type, actor, data.machine]),
			[["secret.list", id, `${slug}/${name}`]],
			query,
		);
		assert.deepEqual(await events(client, carol, query), [], query);
	}
	const others = ["no-realm/ci", `${slug}/no-machine`, slug, "/", `${slug}/${name}/more`];
	const none = [...others.map((value) => `machine=${value}`), `actor=${alice.id}&machine=${id}`];
	for (const query of none) assert.deepEqual(await events(client, alice, query), [], query);
});

test("an unknown type, actor or combination is an empty list", async () => {
	for (const query of [
		"type=no.such.type",
		"type=%00",
		`actor=${crypto.randomUUID()}`,
		"actor=%F0%9F%94%91",
		"type=secret.%25",
	]) {
		assert.deepEqual(await events(client, alice, query), [], query);
	}
});

test("a failed login of nobody is found by the e-mail that was tried, by the instance admin alone", async () => {
	const email = `${unique("nobody")}@example.test`;
	refused(await client.post("/auth/login", { email, password: "no password of anybody" }), 401);
	const query = `actor=${encodeURIComponent(email)}`;
	assert.deepEqual(
		(await events(client, root, query)).map(({ type }) => type),
		["auth.login.failed"],
	);
	assert.deepEqual(await events(client, alice, query), []);
});

test("events come newest first", async () => {
	const times = (await events(client, alice)).map(({ timestamp }) => Date.parse(timestamp));
	assert.deepEqual(
		times,
		times.toSorted((a, b) => b - a),
	);
});

test("no event holds a value, a comment, a password or a token", async () => {
	const minted = await apiToken(client, alice, "read");
	const text = JSON.stringify([await events(client, alice), await events(client, root)]);
	for (const received of ["a value", "a telling comment", alice.password, alice.token, minted.token]) {
		assert.ok(!text.includes(received), received.slice(0, 8));
	}
});

test("a token needs the scope read", async () => {
	const { token } = await apiToken(client, alice, "write,delete");
	refused(await client.get("/audit/events", { token }), 403, "insufficient_scope");
});

test("events outlive a restart", async () => {
	const before = await events(client, alice, `realm=${slug}`);
	await server.restart();
	assert.deepEqual(await events(client, alice, `realm=${slug}`), before);
});
