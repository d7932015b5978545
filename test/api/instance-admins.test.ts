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

test("a second instance admin manages the instance immediately, and may take the first one's place", async () => {
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
	const recorded = (await events(client, root, "type=user.admin.set")).map(({ actor, data }) => [
		actor,
		data.user_id,
		data.instance_admin,
	]);
	assert.deepEqual(recorded, [
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

const setDisabled = (who: Person, verb: "disable" | "enable", token: string) =>
	client.post(`/users/${who.id}/${verb}`, undefined, { token });

/** Finds the instance admins who are enabled, as one of them sees it. */
async function administrators(token: string): Promise<string[]> {
	const path = "/users?limit=100";
	type Listed = User & { instance_admin: boolean; disabled: boolean };
	const { users } = ok(await client.get<{ users: Listed[] }>(path, { token }));
	return users.filter(({ instance_admin, disabled }) => instance_admin && !disabled).map(({ id }) => id);
}

test("an instance admin who is disabled does not count, so the enabled one stays", async () => {
	ok(await setAdmin(alice, true, root.token));
	ok(await setDisabled(alice, "disable", root.token));
	refused(await setAdmin(root, false, root.token), 409, "conflict");
	refused(await setDisabled(root, "disable", root.token), 409, "conflict");
	ok(await setAdmin(alice, false, root.token));
	ok(await setDisabled(alice, "enable", root.token));
	assert.deepEqual(await administrators(root.token), [root.id]);
});

test("when two instance admins remove each other simultaneously, one stays", async () => {
	for (const ways of [
		["step", "step"],
		["disable", "disable"],
		["step", "disable"],
	]) {
		const [one, other] = await Promise.all([person(client, "one"), person(client, "other")]);
		for (const who of [one, other]) ok(await setAdmin(who, true, root.token));
		ok(await setAdmin(root, false, root.token));
		const end = (way: string | undefined, who: Person, by: Person) =>
			way === "step" ? setAdmin(who, false, by.token) : setDisabled(who, "disable", by.token);
		const answers = await Promise.all([end(ways[0], one, other), end(ways[1], other, one)]);
		assert.deepEqual(answers.map(({ status }) => status === 200).sort(), [false, true], ways.join());
		const left = answers[0]?.status === 200 ? other : one;
		assert.deepEqual(await administrators(left.token), [left.id]);
		ok(await setAdmin(root, true, left.token));
		ok(await setAdmin(left, false, left.token));
	}
});

test("the last instance admin stays one after revoking all their own access and changing the password", async () => {
	const { token, id, email } = root;
	ok(await client.post("/revoke", { user_id: id }, { token }));
	assert.deepEqual(await administrators(token), [id]);
	const [current_password, new_password] = [root.password, `another ${root.password}`];
	ok(await client.post("/auth/password", { current_password, new_password }, { token }));
	const { token: again } = ok(await client.post<{ token: string }>("/auth/login", { email, password: new_password }));
	assert.deepEqual(await administrators(again), [id]);
	refused(await setAdmin(root, false, again), 409, "conflict");
});
