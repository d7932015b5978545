import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { apiToken, login, PASSWORD, type Person, person } from "../harness/fixtures.ts";
import type { User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let alice: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	alice = await person(client, "alice");
});
after(() => server.close());

function users(action: string, id: string, by: Person = root): ReturnType<Api["post"]> {
	return client.post(`/users/${id}/${action}`, undefined, { token: by.token });
}

test("the instance admin lists every account, without anything of its password", async () => {
	const answer = await client.get<{ users: User[] }>("/users", { token: root.token });
	const listed = ok(answer).users.find(({ id }) => id === alice.id);
	assert.equal(listed?.email, alice.email);
	assert.equal(listed?.name, "alice");
	assert.doesNotMatch(answer.text, /password|argon2|hash/i);
});

test("a disabled account is out immediately, and its login fails like a wrong password", async () => {
	const bob = await person(client, "bob");
	const { token } = await apiToken(client, bob, "read,write");
	ok(await users("disable", bob.id));
	refused(await client.get("/realms", { token: bob.token }), 401, "unauthorized");
	refused(await client.get("/realms", { token }), 401, "unauthorized");
	const disabled = await client.post("/auth/login", { email: bob.email, password: PASSWORD });
	const wrong = await client.post("/auth/login", { email: alice.email, password: "not the password at all" });
	refused(disabled, 401, "invalid_credentials");
	sameRefusal(disabled, wrong);
});

test("an enabled account logs in again: its API tokens wake up and its old sessions do not", async () => {
	const carol = await person(client, "carol");
	const { token } = await apiToken(client, carol, "read");
	ok(await users("disable", carol.id));
	ok(await users("enable", carol.id));
	refused(await client.get("/realms", { token: carol.token }), 401, "unauthorized");
	ok(await client.get("/realms", { token }));
	await login(client, carol);
});

test("nobody but the instance admin lists, disables or enables accounts", async () => {
	refused(await client.get("/users", { token: alice.token }), 403, "forbidden");
	refused(await users("disable", root.id, alice), 403, "forbidden");
	refused(await users("enable", root.id, alice), 403, "forbidden");
	refused(await users("disable", alice.id, alice), 403, "forbidden");
	ok(await client.get("/users", { token: root.token }));
});

test("an account that does not exist is not found", async () => {
	for (const id of [crypto.randomUUID(), "no-uuid", "%00"]) {
		refused(await users("disable", id), 404, "not_found");
		refused(await users("enable", id), 404, "not_found");
	}
});
