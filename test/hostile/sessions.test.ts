import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, login, PASSWORD, type Person, person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

/** Fills any cache of the server for a token, so that a forgotten cache shows. */
async function used(token: string): Promise<string> {
	for (let count = 0; count < 3; count += 1) ok(await client.get("/realms", { token }));
	return token;
}

function ask(token: string): ReturnType<Api["get"]> {
	return client.get("/realms", { token });
}

test("a change of password ends the other sessions with the very next request", async () => {
	const alice = await person(client, "alice");
	const others = [await used(await login(client, alice)), await used(await login(client, alice))];
	const body = { current_password: PASSWORD, new_password: "another good password" };
	ok(await client.post("/auth/password", body, { token: await used(alice.token) }));
	for (const token of others) refused(await ask(token), 401, "unauthorized");
	ok(await ask(alice.token));
});

test("disabling an account ends its sessions and API tokens with the very next request", async () => {
	const bob = await person(client, "bob");
	const { token } = await apiToken(client, bob, "read");
	await used(token);
	await used(bob.token);
	ok(await client.post(`/users/${bob.id}/disable`, undefined, { token: root.token }));
	refused(await ask(bob.token), 401, "unauthorized");
	refused(await ask(token), 401, "unauthorized");
	ok(await client.post(`/users/${bob.id}/enable`, undefined, { token: root.token }));
	refused(await ask(bob.token), 401, "unauthorized");
	ok(await ask(token));
});

test("a revoked API token is out with the very next request", async () => {
	const carol = await person(client, "carol");
	const { id, token } = await apiToken(client, carol, "read,delete");
	await used(token);
	ok(await client.delete(`/auth/tokens/${id}`, { token: carol.token }));
	refused(await ask(token), 401, "unauthorized");
});

test("a removed role is out with the very next request, on every kind of token", async () => {
	const dave = await person(client, "dave");
	const { slug } = await realm(client, root);
	const bindings = `/realms/${slug}/policy/bindings`;
	ok(await client.post(bindings, { user_id: dave.id, role: "admin" }, { token: root.token }), 201);
	const { token } = await apiToken(client, dave, "read,write,delete");
	for (const one of [dave.token, token]) ok(await client.get(`/realms/${slug}`, { token: one }));
	ok(await client.delete(`${bindings}/${dave.id}`, { token: root.token }));
	for (const one of [dave.token, token]) refused(await client.get(`/realms/${slug}`, { token: one }), 404, "not_found");
});

test("what was ended stays ended after a restart, and what was not lives on", async () => {
	const erin = await person(client, "erin");
	const [ended, kept] = [await login(client, erin), await login(client, erin)];
	const [revoked, alive] = [await apiToken(client, erin, "read"), await apiToken(client, erin, "read")];
	ok(await client.post("/auth/logout", undefined, { token: ended }));
	ok(await client.delete(`/auth/tokens/${revoked.id}`, { token: erin.token }));
	await server.restart();
	refused(await ask(ended), 401, "unauthorized");
	refused(await ask(revoked.token), 401, "unauthorized");
	ok(await ask(kept));
	ok(await ask(alive.token));
});
