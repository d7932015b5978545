import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events, newest, type ReadEvent } from "../harness/events.ts";
import { fields, ok, recent, refused, uuid } from "../harness/expect.ts";
import { apiToken, bind, login, PASSWORD, type Person, person, realm, secret, unique } from "../harness/fixtures.ts";
import type { AuditEvent } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let alice: Person;
let bob: Person;
let slug: string;
let key: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	[alice, bob] = await Promise.all([person(client, "alice"), person(client, "bob")]);
	slug = (await realm(client, alice)).slug;
	key = unique("KEY");
	await secret(client, alice, slug, key, "a value");
	await secret(client, alice, slug, key, "another value", { environment: "prod" });
});
after(() => server.close());

/** Returns the newest event of the type, which must be alice's. */
async function hers(type: string, inRealm = ""): Promise<ReadEvent> {
	const event = await newest(client, alice, type);
	assert.ok(event, `there is no ${type}`);
	assert.partialDeepStrictEqual(event, { type, actor: alice.id, realm: inRealm });
	return event;
}

function asAlice(): { token: string } {
	return { token: alice.token };
}

test("an event has its six fields, and data is JSON in a string", async () => {
	const { events: list } = ok(await client.get<{ events: AuditEvent[] }>("/audit/events", asAlice()));
	assert.ok(list.length > 0);
	for (const event of list) {
		fields(event, ["id", "timestamp", "type", "actor", "realm", "data"]);
		uuid(event.id);
		recent(event.timestamp);
		const data: Record<string, unknown> = JSON.parse(event.data);
		assert.match(String(data.request_id), /\S/);
		assert.equal(data.ip, "127.0.0.1");
	}
});

test("the request id of an event is that of the answer", async () => {
	const answer = await client.get(`/realms/${slug}/secrets/${key}`, asAlice());
	const { data } = await hers("secret.read", slug);
	assert.equal(data.request_id, answer.headers["x-request-id"]);
});

test("an API token is named by its id", async () => {
	const { id, token } = await apiToken(client, alice, "read");
	ok(await client.get(`/realms/${slug}/secrets/${key}`, { token }));
	assert.equal((await hers("secret.read", slug)).data.token_id, id);
});

test("registration, login and logout are events", async () => {
	const carol = await person(client, "carol");
	const [register] = await events(client, root, `type=auth.register&actor=${carol.id}`);
	assert.equal(register?.actor, carol.id);
	assert.equal((await newest(client, carol, "auth.login"))?.actor, carol.id);
	const session = await login(client, carol);
	ok(await client.post("/auth/logout", undefined, { token: session }));
	assert.equal((await newest(client, carol, "auth.logout"))?.actor, carol.id);
});

test("a failed login is an event of the e-mail that was tried or of its account, with a reason", async () => {
	const email = `${unique("nobody")}@example.test`;
	refused(await client.post("/auth/login", { email: ` ${email.toUpperCase()}`, password: PASSWORD }), 401);
	const nobody = await newest(client, root, "auth.login.failed");
	assert.equal(nobody?.actor, email);
	for (const field of ["method", "reason", "ip"]) assert.equal(typeof nobody?.data[field], "string", field);
	refused(await client.post("/auth/login", { email: alice.email, password: "not the password at all" }), 401);
	assert.equal((await newest(client, root, "auth.login.failed"))?.actor, alice.id);
});

test("a change of password, and one with the wrong password, leave their traces", async () => {
	const dave = await person(client, "dave");
	const before = (await events(client, dave)).length;
	const wrong = { current_password: "not the password at all", new_password: "another good password" };
	refused(await client.post("/auth/password", wrong, { token: dave.token }), 403, "wrong_password");
	const between = (await events(client, dave)).length;
	assert.ok(between > before, "the refusal is an event");
	ok(await client.post("/auth/password", { ...wrong, current_password: PASSWORD }, { token: dave.token }));
	assert.ok((await events(client, dave)).length > between, "the change is an event");
});

test("tokens that are created and revoked are events", async () => {
	const { id } = await apiToken(client, alice, "read,write");
	assert.ok(JSON.stringify((await hers("auth.token.created")).data).includes(id));
	ok(await client.delete(`/auth/tokens/${id}`, asAlice()));
	assert.ok(JSON.stringify((await hers("auth.token.revoked")).data).includes(id));
});

test("disabling and enabling an account are events of the instance admin", async () => {
	const erin = await person(client, "erin");
	ok(await client.post(`/users/${erin.id}/disable`, undefined, { token: root.token }));
	const disabled = await newest(client, root, "user.disabled");
	assert.equal(disabled?.actor, root.id);
	assert.ok(JSON.stringify(disabled?.data).includes(erin.id));
	const count = (await events(client, root, `actor=${root.id}`)).length;
	ok(await client.post(`/users/${erin.id}/enable`, undefined, { token: root.token }));
	assert.equal((await events(client, root, `actor=${root.id}`)).length, count + 1);
});

test("a realm that is created and deleted gives events", async () => {
	const made = await realm(client, alice);
	await hers("realm.created", made.slug);
	ok(await client.delete(`/realms/${made.slug}`, asAlice()));
	await hers("realm.deleted", made.slug);
});

test("a write tells key, environment and version, and whether the text came encrypted", async () => {
	const written = { key: unique("KEY"), environment: "staging" };
	await secret(client, alice, slug, written.key, "a value", { environment: "staging", comment: "a comment" });
	const plain = await hers("secret.set", slug);
	assert.partialDeepStrictEqual(plain.data, { ...written, version: 1, pre_encrypted: false });
	await secret(client, alice, slug, written.key, "svc:v1:x", { environment: "staging", pre_encrypted: true });
	const sealed = await hers("secret.set", slug);
	assert.partialDeepStrictEqual(sealed.data, { ...written, version: 2, pre_encrypted: true });
});

test("a read tells key, environment, version and the way", async () => {
	ok(await client.get(`/realms/${slug}/secrets/${key}`, asAlice()));
	const read = await hers("secret.read", slug);
	assert.partialDeepStrictEqual(read.data, { key, environment: "dev", version: 1, via: "api" });
	ok(await client.get(`/eso/${slug}/${key}`, asAlice()));
	const synced = await hers("secret.read", slug);
	assert.partialDeepStrictEqual(synced.data, { key, environment: "prod", version: 1, via: "eso" });
	ok(await client.get(`/realms/${slug}/secrets/${key}?version=1`, asAlice()));
	assert.partialDeepStrictEqual((await hers("secret.read", slug)).data, { key, version: 1, via: "api" });
});

test("a list and a synced map are one event each, with a count", async () => {
	const before = (await events(client, alice, `realm=${slug}`)).length;
	ok(await client.get(`/realms/${slug}/secrets?env=prod`, asAlice()));
	assert.equal((await hers("secret.list", slug)).data.count, 1);
	ok(await client.get(`/realms/${slug}/secrets?env=prod&values=false`, asAlice()));
	assert.partialDeepStrictEqual((await hers("secret.list", slug)).data, { count: 1, values: false });
	ok(await client.get(`/eso/${slug}`, asAlice()));
	assert.equal((await hers("secret.sync", slug)).data.count, 1);
	assert.equal((await events(client, alice, `realm=${slug}`)).length, before + 3);
});

test("a query by key finds who read it among others, in a list, a synced map and a comparison", async () => {
	const { slug: own } = await realm(client, alice);
	await secret(client, alice, own, "DB_URL", "a value");
	await secret(client, alice, own, "DB_URL", "a value", { environment: "prod" });
	await secret(client, alice, own, "OTHER", "a value", { environment: "prod" });
	await bind(client, alice, own, bob, "viewer");
	const about = async (who: Person, filter: string) =>
		(await events(client, who, `realm=${own}&type=secret.*&${filter}`)).map(({ type, actor, data }) => [
			type.slice("secret.".length),
			actor === bob.id ? "bob" : "alice",
			data.environment,
		]);
	const asBob = { token: bob.token };
	const written = [
		["set", "alice", "prod"],
		["set", "alice", "dev"],
	];
	ok(await client.get(`/realms/${own}/secrets?env=prod`, asBob));
	ok(await client.get(`/realms/${own}/secrets?env=staging`, asBob));
	ok(await client.get(`/realms/${own}/secrets?values=false`, asBob));
	ok(await client.get(`/eso/${own}`, asBob));
	ok(await client.get(`/eso/${own}?env=dev`, asBob));
	ok(await client.get(`/realms/${own}/diff?from=staging&to=prod`, asBob));
	const bulk = [
		["diff", "bob", "staging"],
		["sync", "bob", "dev"],
		["sync", "bob", "prod"],
		["list", "bob", "prod"],
	];
	assert.deepEqual(await about(alice, "key=DB_URL"), [...bulk, ...written]);
	assert.deepEqual(await about(alice, "key=DB_URL&actor=bob@"), []);
	assert.deepEqual(await about(alice, `key=DB_URL&actor=${bob.email}`), bulk);
	assert.deepEqual(await about(alice, "key=OTHER"), [bulk[0], bulk[2], bulk[3], written[0]]);
	assert.deepEqual(await about(alice, "key=STRANGE"), []);
	ok(await client.delete(`/realms/${own}/policy/bindings/${bob.id}`, asAlice()));
	assert.deepEqual(await about(bob, "key=DB_URL"), []);
});

test("the keys of a bulk read are shown to those who can see its event, set by set and part by part", async () => {
	const { slug: own } = await realm(client, alice);
	for (const name of ["B", "A"]) await secret(client, alice, own, name, "a value");
	ok(await client.get(`/eso/${own}?env=dev`, asAlice()));
	const key_set = (await hers("secret.sync", own)).data.key_set;
	const about = (hash: unknown) => client.get<{ parts: string[] }>(`/realms/${own}/audit/keys/${hash}`, asAlice());
	const { parts } = ok(await about(key_set));
	assert.equal(parts.length, 1);
	assert.deepEqual(ok(await about(parts[0])), { keys: ["A", "B"] });
	refused(await about("none"), 404, "not_found");
	const { slug: other } = await realm(client, alice);
	refused(await client.get(`/realms/${other}/audit/keys/${key_set}`, asAlice()), 404, "not_found");
	refused(await client.get(`/realms/${own}/audit/keys/${key_set}`, { token: bob.token }), 404, "not_found");
});

test("a rollback and a deletion are events", async () => {
	const victim = unique("KEY");
	await secret(client, alice, slug, victim, "a value");
	ok(await client.post(`/realms/${slug}/secrets/${victim}/rollback`, { version: 1 }, asAlice()), 201);
	assert.partialDeepStrictEqual((await hers("secret.rollback", slug)).data, { key: victim, environment: "dev" });
	ok(await client.delete(`/realms/${slug}/secrets/${victim}`, asAlice()));
	assert.partialDeepStrictEqual((await hers("secret.delete", slug)).data, { key: victim, environment: "dev" });
});

test("bindings that are made and removed are events", async () => {
	const { slug: other } = await realm(client, alice);
	await bind(client, alice, other, bob, "viewer");
	assert.match(
		JSON.stringify((await hers("policy.binding.created", other)).data),
		new RegExp(`${bob.id}.*viewer|viewer.*${bob.id}`),
	);
	ok(await client.delete(`/realms/${other}/policy/bindings/${bob.id}`, asAlice()));
	assert.ok(JSON.stringify((await hers("policy.binding.deleted", other)).data).includes(bob.id));
});

test("encrypting is an event", async () => {
	ok(await client.post("/encrypt", { value: "a value" }, asAlice()));
	await hers("encrypt");
});

test("a denial for want of a role, of a scope or of the instance's rights is an event", async () => {
	const { slug: other } = await realm(client, alice);
	await bind(client, alice, other, bob, "viewer");
	const denied = async (): Promise<ReadEvent[]> => events(client, bob, `type=access.denied&actor=${bob.id}`);
	const { token } = bob;
	refused(await client.post(`/realms/${other}/secrets`, { key: "KEY", value: "v" }, { token }), 403, "forbidden");
	assert.deepEqual(
		(await denied()).map(({ realm: where }) => where),
		[other],
	);
	const reader = await apiToken(client, bob, "write");
	refused(await client.get(`/realms/${other}/secrets`, { token: reader.token }), 403, "insufficient_scope");
	assert.equal((await denied()).length, 2);
	refused(await client.get("/users", { token }), 403, "forbidden");
	assert.equal((await denied()).length, 3);
});

test("a read that finds nothing gives no value away and needs no event of a read", async () => {
	const count = async (): Promise<number> => (await events(client, alice, "type=secret.read")).length;
	const before = await count();
	refused(await client.get(`/realms/${slug}/secrets/NOTHING`, asAlice()), 404, "not_found");
	assert.equal(await count(), before);
});

test("the chain of all these events is intact", async () => {
	const { status } = ok(await client.get<{ status: string }>("/audit/verify", { token: root.token }));
	assert.equal(status, "intact");
});

test("events are found by key, token and time, and by the beginning of their type", async () => {
	const { slug: own } = await realm(client, alice);
	const { id, token } = await apiToken(client, alice, "read");
	await secret(client, alice, own, "ONE", "a value");
	await secret(client, alice, own, "TWO", "a value");
	const between = new Date().toISOString();
	ok(await client.get(`/realms/${own}/secrets/ONE`, { token }));
	const found = async (filter: string) =>
		(await events(client, alice, `realm=${own}&${filter}`)).map(({ type, data }) => [type, data.key]);
	assert.deepEqual(await found("key=ONE"), [
		["secret.read", "ONE"],
		["secret.set", "ONE"],
	]);
	assert.deepEqual(await found(`key=ONE&until=${between}`), [["secret.set", "ONE"]]);
	assert.deepEqual(await found(`since=${between}`), [["secret.read", "ONE"]]);
	assert.deepEqual(await found(`token=${id}`), [["secret.read", "ONE"]]);
	assert.deepEqual((await found("type=secret.*")).length, 3);
	assert.deepEqual(await found("key=NONE"), []);
	refused(await client.get("/audit/events?since=yesterday", asAlice()), 400, "validation_failed");
});

test("names tell who caused an event, of those who have an account", async () => {
	const [event] = await events(client, alice, `names=true&actor=${alice.id}`);
	assert.partialDeepStrictEqual(event, { actor: alice.id, email: alice.email });
	refused(await client.get("/audit/events?names=yes", asAlice()), 400, "validation_failed");
	const start = alice.email.slice(0, alice.email.indexOf("@") + 1);
	assert.ok(
		(await events(client, alice, `actor=${encodeURIComponent(start)}`)).every(({ actor }) => actor === alice.id),
	);
	assert.ok((await events(client, alice, `actor=${encodeURIComponent(start)}`)).length > 0);
	assert.deepEqual(await events(client, alice, "actor=%40"), []);
	const { slug: foreign } = await realm(client, bob);
	assert.deepEqual(await events(client, alice, `names=true&realm=${foreign}`), []);
	const { slug: own } = await realm(client, alice);
	ok(await client.post(`/realms/${own}/policy/bindings`, { user_id: bob.id, role: "viewer" }, asAlice()), 201);
	const bound = (filter: string) => events(client, alice, `realm=${own}&type=policy.binding.created${filter}`);
	assert.partialDeepStrictEqual(await bound("&names=true"), [{ people: { [bob.id]: bob.email } }]);
	assert.deepEqual(Object.keys((await bound(""))[0] ?? {}).includes("people"), false);
});
