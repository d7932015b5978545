import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as KINDS from "../../packages/server/src/engines/kinds/registry.ts";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { fields, ok, recent, refused, sameRefusal, uuid } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import type { Binding, Realm } from "../harness/resources.ts";
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

function grant(slug: string, body: object, token = alice.token): Promise<Answer<Binding>> {
	return client.post(`/realms/${slug}/policy/bindings`, body, { token });
}

function revoke(slug: string, userId: string, token = alice.token): Promise<Answer> {
	return client.delete(`/realms/${slug}/policy/bindings/${userId}`, { token });
}

async function bindings(slug: string, token = alice.token): Promise<Binding[]> {
	const path = `/realms/${slug}/policy/bindings`;
	return ok(await client.get<{ bindings: Binding[] }>(path, { token })).bindings;
}

test("there are three roles with the capabilities of the specification", async () => {
	const read = ["secrets:read"];
	const { roles } = ok(
		await client.get<{ roles: { name: string; capabilities: string[] }[] }>("/policy/roles", { token: bob.token }),
	);
	assert.deepEqual(
		new Map(roles.map(({ name, capabilities }) => [name, new Set(capabilities)])),
		new Map([
			["admin", new Set([...read, "secrets:write", "secrets:delete", "realms:manage", "policy:manage", "audit:read"])],
			["member", new Set([...read, "secrets:write", "audit:read"])],
			["viewer", new Set([...read, "audit:read"])],
		]),
	);
});

for (const role of ["admin", "member", "viewer"]) {
	test(`binding somebody as ${role} is answered with the binding and listed`, async () => {
		const { slug, id: realm_id } = await realm(client, alice);
		const made = ok(await grant(slug, { user_id: bob.id, role }), 201);
		fields(made, ["id", "realm_id", "user_id", "role", "granted_by", "created_at"]);
		uuid(made.id);
		recent(made.created_at);
		assert.partialDeepStrictEqual(made, { realm_id, user_id: bob.id, role, granted_by: alice.id });
		const listed = (await bindings(slug, bob.token)).find(({ user_id }) => user_id === bob.id);
		for (const field of ["user_id", "role", "granted_by", "created_at"] as const) {
			assert.equal(listed?.[field], made[field]);
		}
	});
}

test("the owner is in no binding, and cannot be bound or unbound", async () => {
	const { slug } = await realm(client, alice);
	assert.deepEqual(await bindings(slug), []);
	refused(await grant(slug, { user_id: alice.id, role: "viewer" }), 409, "conflict");
	await bind(client, alice, slug, bob, "admin");
	refused(await grant(slug, { user_id: alice.id, role: "viewer" }, bob.token), 409, "conflict");
	refused(await revoke(slug, alice.id, bob.token), 404, "not_found");
	ok(await client.get(`/realms/${slug}`, { token: alice.token }));
});

test("somebody who has a role already gets no second one, of the same kind or another", async () => {
	const { slug } = await realm(client, alice);
	await bind(client, alice, slug, bob, "viewer");
	for (const role of ["viewer", "admin"]) refused(await grant(slug, { user_id: bob.id, role }), 409, "conflict");
	assert.deepEqual(
		(await bindings(slug)).map(({ role }) => role),
		["viewer"],
	);
});

for (const [what, body, status, code] of [
	["no user", { user_id: undefined }, 400, "missing_field"],
	["an empty user", { user_id: "" }, 400, "missing_field"],
	["no role", { role: undefined }, 400, "missing_field"],
	["a role of null", { role: null }, 400, "missing_field"],
	["an unknown role", { role: "owner" }, 400, "invalid_role"],
	["a role in capitals", { role: "Admin" }, 400, "invalid_role"],
	["an unknown user", { user_id: "00000000-0000-4000-8000-000000000000" }, 404, "not_found"],
	["an e-mail for a user", { user_id: "bob@example.test" }, 404, "not_found"],
] as [string, object, number, string][]) {
	test(`a binding with ${what} is refused`, async () => {
		const { slug } = await realm(client, alice);
		refused(await grant(slug, { user_id: bob.id, role: "viewer", ...body }), status, code);
		assert.deepEqual(await bindings(slug), []);
	});
}

test("a removed binding takes the realm away immediately, and another role can follow", async () => {
	const { slug } = await realm(client, alice);
	await bind(client, alice, slug, bob, "member");
	await secret(client, bob, slug, "KEY", "a value");
	assert.deepEqual(ok(await revoke(slug, bob.id)), { message: "binding removed" });
	refused(await client.get(`/realms/${slug}/secrets/KEY`, { token: bob.token }), 404, "not_found");
	refused(await revoke(slug, bob.id), 404, "not_found");
	await bind(client, alice, slug, bob, "viewer");
	ok(await client.get(`/realms/${slug}/secrets/KEY`, { token: bob.token }));
});

test("a role is as good as its capabilities", async () => {
	const { slug } = await realm(client, alice);
	await bind(client, alice, slug, bob, "viewer");
	await bind(client, alice, slug, carol, "member");
	await secret(client, carol, slug, "KEY", "a value");
	const body = { key: "KEY", value: "changed" };
	const write = await client.post(`/realms/${slug}/secrets`, body, { token: bob.token });
	refused(write, 403, "forbidden");
	const remove = await client.delete(`/realms/${slug}/secrets/KEY`, { token: carol.token });
	refused(remove, 403, "forbidden");
	assert.match(write.text, /secrets:write/);
	assert.match(remove.text, /secrets:delete/);
});

test("the refusal of a token without the scope names the one it needs", async () => {
	const { slug } = await realm(client, alice);
	const { token } = await apiToken(client, alice, "read");
	const answer = await client.post(`/realms/${slug}/secrets`, { key: "KEY", value: "v" }, { token });
	refused(answer, 403, "insufficient_scope");
	assert.match(answer.text, /write/);
});

test("only an admin manages bindings, and whether a stranger asks makes no difference", async () => {
	const { slug } = await realm(client, alice);
	await bind(client, alice, slug, bob, "member");
	for (const { token } of [bob, carol, root]) {
		refused(await grant(slug, { user_id: carol.id, role: "viewer" }, token), 403, "forbidden");
		refused(await revoke(slug, bob.id, token), 403, "forbidden");
	}
	const unknown = "no-such-realm";
	refused(await grant(unknown, { user_id: carol.id, role: "viewer" }), 404, "not_found");
	refused(await revoke(unknown, bob.id), 404, "not_found");
});

test("a member can leave a realm in a session and be bound again; the owner cannot leave", async () => {
	const { slug } = await realm(client, alice);
	const leave = (token: string, from = slug) => client.post(`/realms/${from}/leave`, undefined, { token });
	for (const role of ["viewer", "member", "admin"]) {
		await bind(client, alice, slug, bob, role);
		const { token } = await apiToken(client, bob, "read,write,delete");
		refused(await leave(token), 400, "unsupported_operation");
		ok(await leave(bob.token));
		sameRefusal(await leave(bob.token), await leave(bob.token, "no-such-realm"));
		refused(await client.get(`/realms/${slug}`, { token }), 404, "not_found");
	}
	refused(await leave(alice.token), 409, "conflict");
	refused(await leave(root.token), 404, "not_found");
	ok(await client.get(`/realms/${slug}`, { token: alice.token }));
	const recorded = await events(client, alice, `realm=${slug}&type=policy.binding.deleted`);
	assert.deepEqual(
		recorded.map(({ actor, data }) => [actor, data.user_id]),
		Array(3).fill([bob.id, bob.id]),
	);
	const { status } = ok(await client.get<{ status: string }>("/audit/verify", { token: root.token }));
	assert.equal(status, "intact");
});

test("a member cannot raise itself, and an admin can raise others", async () => {
	const { slug } = await realm(client, alice);
	await bind(client, alice, slug, bob, "admin");
	refused(await grant(slug, { user_id: carol.id, role: "admin" }, carol.token), 403, "forbidden");
	assert.equal(ok(await grant(slug, { user_id: carol.id, role: "admin" }, bob.token), 201).granted_by, bob.id);
});

test("the instance admin breaks glass by binding itself, and may revoke that", async () => {
	const { slug }: Realm = await realm(client, alice);
	await secret(client, alice, slug, "KEY", "a value");
	refused(await client.get(`/realms/${slug}/secrets/KEY`, { token: root.token }), 404, "not_found");
	ok(await grant(slug, { user_id: root.id, role: "viewer" }, root.token), 201);
	ok(await client.get(`/realms/${slug}/secrets/KEY`, { token: root.token }));
	ok(await revoke(slug, root.id, root.token));
	refused(await client.get(`/realms/${slug}/secrets/KEY`, { token: root.token }), 404, "not_found");
});

test("breaking glass needs the scopes that binding and unbinding need", async () => {
	const { slug } = await realm(client, alice);
	const [writer, deleter] = [await apiToken(client, root, "write"), await apiToken(client, root, "delete")];
	const self = { user_id: root.id, role: "viewer" };
	refused(await grant(slug, self, deleter.token), 403, "insufficient_scope");
	ok(await grant(slug, self, writer.token), 201);
	refused(await revoke(slug, root.id, writer.token), 403, "insufficient_scope");
	ok(await revoke(slug, root.id, deleter.token));
});

test("the engines that come with the server are listed, and the list is not paginated", async () => {
	const { engines } = ok(await client.get<{ engines: { type: string }[] }>("/engines", { token: alice.token }));
	const types = engines.map(({ type }) => type);
	assert.deepEqual(new Set(types), new Set(Object.keys(KINDS)));
});

test("a user is named by e-mail in place of the id, and by exactly one of the two", async () => {
	const { slug } = await realm(client, alice);
	const email = bob.email.toUpperCase();
	const made = ok(await grant(slug, { email, role: "viewer" }), 201);
	assert.equal(made.user_id, bob.id);
	refused(await grant(slug, { email: "nobody@example.com", role: "viewer" }), 404, "not_found");
	refused(await grant(slug, { role: "viewer" }), 400, "missing_field");
	refused(await grant(slug, { user_id: bob.id, email, role: "viewer" }), 400, "missing_field");
	refused(await grant(slug, { email: "nobody@example.com", role: "viewer" }, bob.token), 403, "forbidden");
});

test("a role change is one event, and lists name the users where that is asked for", async () => {
	const { slug } = await realm(client, alice);
	const path = `/realms/${slug}/policy/bindings`;
	const change = (who: Person, role: string, token = alice.token) =>
		client.send<{ role: string }>("PUT", `/api/v1${path}/${who.id}`, { token, raw: JSON.stringify({ role }) });
	refused(await change(bob, "member"), 404, "not_found");
	await bind(client, alice, slug, bob, "viewer");
	assert.deepEqual(ok(await change(bob, "member")), { user_id: bob.id, role: "member" });
	refused(await change(bob, "admin", bob.token), 403, "forbidden");
	refused(await change(bob, "king"), 400, "invalid_role");
	refused(await change(alice, "viewer"), 404, "not_found");
	for (const scopes of ["write", "delete"])
		refused(await change(bob, "viewer", (await apiToken(client, alice, scopes)).token), 403, "insufficient_scope");
	ok(await change(bob, "viewer", (await apiToken(client, alice, "write,delete")).token));
	const named = ok(await client.get<{ bindings: object[] }>(`${path}?names=true`, { token: alice.token })).bindings;
	assert.partialDeepStrictEqual(named, [
		{ user_id: bob.id, role: "viewer", email: bob.email, granted_by_email: alice.email, granted_by_name: "alice" },
	]);
	const events = ok(
		await client.get<{ events: { type: string; data: string }[] }>(
			`/audit/events?realm=${slug}&type=policy.binding.changed`,
			{ token: alice.token },
		),
	).events;
	assert.deepEqual(
		events.map(({ data }) => JSON.parse(data).role),
		["viewer", "member"],
	);
	const { status } = ok(await client.get<{ status: string }>("/audit/verify", { token: root.token }));
	assert.equal(status, "intact");
});
