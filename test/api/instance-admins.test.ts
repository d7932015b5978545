import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, type Person, person } from "../harness/fixtures.ts";
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

const setAdmin = (who: Person, instance_admin: unknown, token: string) =>
	client.send<User>("PUT", `/api/v1/users/${who.id}`, { token, raw: JSON.stringify({ instance_admin }) });

test("the last instance admin does not step down, and is not disabled", async () => {
	refused(await setAdmin(root, false, root.token), 409, "conflict");
	refused(await client.post(`/users/${root.id}/disable`, undefined, { token: root.token }), 409, "conflict");
	ok(await client.get("/users", { token: root.token }));
});

test("a second instance admin manages the instance at once, and may take the first one's place", async () => {
	refused(await client.get("/users", { token: alice.token }), 403, "forbidden");
	const made = ok(await setAdmin(alice, true, root.token));
	assert.equal((made as User & { instance_admin: boolean }).instance_admin, true);
	ok(await client.get("/users", { token: alice.token }));
	ok(await setAdmin(root, false, alice.token));
	refused(await client.get("/users", { token: root.token }), 403, "forbidden");
	refused(await setAdmin(root, true, root.token), 403, "forbidden");
	refused(await setAdmin(alice, false, alice.token), 409, "conflict");
	ok(await setAdmin(root, true, alice.token));
	ok(await setAdmin(alice, false, alice.token));
	const told = (await events(client, root, "type=user.admin.set")).map(({ actor, data }) => [
		actor,
		data.user_id,
		data.instance_admin,
	]);
	assert.deepEqual(told, [
		[alice.id, alice.id, false],
		[alice.id, root.id, true],
		[alice.id, root.id, false],
		[root.id, alice.id, true],
	]);
});

test("a token of the instance admin makes none, nobody is not found, and only true or false is taken", async () => {
	const { token } = await apiToken(client, root, "read,write,delete");
	refused(await setAdmin(alice, true, token), 400, "unsupported_operation");
	refused(await setAdmin({ ...alice, id: crypto.randomUUID() }, true, root.token), 404, "not_found");
	for (const given of [undefined, null, "true", 1]) refused(await setAdmin(alice, given, root.token), 400);
	refused(await client.get("/users", { token: alice.token }), 403, "forbidden");
});
