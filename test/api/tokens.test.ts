import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { fields, ok, recent, refused, uuid } from "../harness/expect.ts";
import { apiToken, type Person, person } from "../harness/fixtures.ts";
import type { ApiToken } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
	bob = await person(client, "bob");
});
after(() => server.close());

function create(body: object, token = alice.token): ReturnType<Api["post"]> {
	return client.post("/auth/tokens", { name: "a token", ...body }, { token });
}

function revoke(id: string, token = alice.token): ReturnType<Api["delete"]> {
	return client.delete(`/auth/tokens/${id}`, { token });
}

test("a created token is answered once, with its prefix", async () => {
	const made = await apiToken(client, alice, "read");
	for (const field of ["token", "id", "name", "prefix", "scopes", "created_at"]) assert.ok(field in made, field);
	uuid(made.id);
	recent(made.created_at);
	assert.match(made.token, /^svc_[0-9A-Za-z]{46}$/);
	assert.ok(made.prefix.startsWith("svc_") && made.token.startsWith(made.prefix));
	assert.ok(made.prefix.length <= 12, "the prefix gives little of the token away");
	ok(await client.get("/realms", { token: made.token }));
});

test("the list holds the caller's own tokens without their values", async () => {
	const made = await apiToken(client, alice, "read,write");
	const answer = await client.get<{ tokens: ApiToken[] }>("/auth/tokens?limit=100", { token: alice.token });
	const listed = ok(answer).tokens.find(({ id }) => id === made.id);
	const { id, name, prefix, scopes, created_at, token } = made;
	assert.ok(listed);
	assert.partialDeepStrictEqual(listed, { id, name, prefix, scopes, created_at });
	assert.ok(!answer.text.includes(token));
	const others = ok(await client.get<{ tokens: ApiToken[] }>("/auth/tokens", { token: bob.token }));
	assert.deepEqual(others.tokens, []);
});

for (const [scopes, expected] of [
	[undefined, "read"],
	[null, "read"],
	["", "read"],
	["write", "write"],
	["delete,write,read", "read,write,delete"],
	[" write ,read,  write", "read,write"],
] as const) {
	test(`the scopes ${JSON.stringify(scopes)} mean ${expected}`, async () => {
		assert.equal(
			ok(await client.post<ApiToken>("/auth/tokens", { name: "a", scopes }, { token: alice.token }), 201).scopes,
			expected,
		);
	});
}

for (const scopes of ["admin", "read,admin", "READ", "read write", "read;write", "*", "read,,write,root"]) {
	test(`the scopes ${JSON.stringify(scopes)} are refused`, async () => {
		refused(await create({ scopes }), 400, "invalid_scope");
	});
}

for (const [what, body, code] of [
	["no name", { name: undefined }, "missing_field"],
	["a name of null", { name: null }, "missing_field"],
	["an empty name", { name: "" }, "missing_field"],
	["a name of 256 characters", { name: "n".repeat(256) }],
	["an expiry in the past", { expires_at: "2020-01-01T00:00:00Z" }],
	["an expiry that is no instant", { expires_at: "tomorrow" }],
	["an unknown environment", { environment: "production" }, "invalid_environment"],
] as [string, object, string?][]) {
	test(`a token with ${what} is refused`, async () => {
		refused(await create(body), 400, code);
	});
}

test("a revoked token stops working immediately and cannot be revoked again", async () => {
	const { id, token } = await apiToken(client, alice, "read");
	ok(await client.get("/realms", { token }));
	assert.deepEqual(ok(await revoke(id)), { message: "token revoked" });
	refused(await client.get("/realms", { token }), 401, "unauthorized");
	refused(await revoke(id), 404, "not_found");
});

test("another's token, an unknown one and no id at all are not found", async () => {
	const { id, token } = await apiToken(client, alice, "read");
	refused(await revoke(id, bob.token), 404, "not_found");
	refused(await revoke(crypto.randomUUID()), 404, "not_found");
	refused(await revoke("no-uuid"), 404, "not_found");
	ok(await client.get("/realms", { token }));
});

test("a token may always revoke itself, and another only with the scope delete", async () => {
	const other = await apiToken(client, alice, "read");
	const reader = await apiToken(client, alice, "read,write");
	const deleter = await apiToken(client, alice, "delete");
	refused(await revoke(other.id, reader.token), 403, "insufficient_scope");
	ok(await revoke(reader.id, reader.token));
	refused(await client.get("/realms", { token: reader.token }), 401, "unauthorized");
	ok(await revoke(other.id, deleter.token));
});

test("a token cannot mint one with more scopes than it has", async () => {
	const reader = await apiToken(client, alice, "read");
	refused(await create({ scopes: "write" }, reader.token), 403, "insufficient_scope");
	refused(await create({ scopes: "read,delete" }, reader.token), 403, "insufficient_scope");
	ok(await create({ scopes: "read" }, reader.token), 201);
});

test("a message of a success has no other field", async () => {
	const { id } = await apiToken(client, alice, "read");
	fields(ok(await revoke(id)) as object, ["message"]);
});
