import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { newest } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, login, type Person, person, sessionId } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Listed {
	sessions: {
		id: string;
		provider: string;
		created_at: string;
		expires_at: string;
		current: boolean;
		last_used_at: string | null;
		last_ip: string | null;
		last_agent: string | null;
	}[];
	pagination: { total?: number };
}

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	[ada, bob] = [await person(client, "ada"), await person(client, "bob")];
});
after(() => server.close());

const list = async (token: string) => ok(await client.get<Listed>("/auth/sessions?include_total=true", { token }));
const end = (id: string, token: string) => client.delete<{ message: string }>(`/auth/sessions/${id}`, { token });
const isOpen = async (token: string) => (await client.get("/auth/whoami", { token })).status === 200;

test("the caller's open sessions are listed, the one that asks is marked, and nobody else's are there", async () => {
	const other = await login(client, ada);
	const { sessions, pagination } = await list(ada.token);
	const marked = new Map(sessions.map(({ id, current }) => [id, current]));
	const wanted = new Map([
		[sessionId(ada.token), true],
		[sessionId(other), false],
	]);
	assert.deepEqual(marked, wanted);
	assert.equal(pagination.total, 2);
	for (const { provider, created_at, expires_at } of sessions) {
		assert.equal(provider, "");
		// A session ends on a whole second.
		const life_s = (Date.parse(expires_at) - Date.parse(created_at)) / 1000;
		assert.equal(Math.ceil(life_s), 24 * 60 * 60);
	}
	assert.deepEqual(
		(await list(bob.token)).sessions.map(({ id }) => id),
		[sessionId(bob.token)],
	);
});

test("a session's list says when, from where and with what each was last used", async () => {
	const eve = await person(client, "eve");
	const other = await login(client, eve);
	const of = async (token: string) => (await list(eve.token)).sessions.find(({ id }) => id === sessionId(token));
	const unused = await of(other);
	assert.deepEqual([unused?.last_used_at, unused?.last_ip, unused?.last_agent], [null, null, null]);
	ok(await client.get("/auth/whoami", { token: other, headers: { "user-agent": "a program é <b>" } }));
	const used = await of(other);
	assert.deepEqual([used?.last_ip, used?.last_agent], ["127.0.0.1", "a program  <b>"]);
	assert.ok(Date.now() - Date.parse(used?.last_used_at ?? "") < 60_000);
});

test("a session that is ended is out with the very next request, and its event says which it was", async () => {
	const other = await login(client, ada);
	assert.ok(await isOpen(other));
	assert.equal(ok(await end(sessionId(other), ada.token)).message, "session ended");
	assert.equal(await isOpen(other), false);
	assert.ok(await isOpen(ada.token));
	const event = await newest(client, ada, "auth.session.ended");
	assert.deepEqual([event?.data.session_ended, event?.data.session_id], [sessionId(other), sessionId(ada.token)]);
	refused(await end(sessionId(other), ada.token), 404, "not_found");
});

test("nobody ends the session of somebody else, nor learns that it is there", async () => {
	for (const id of [sessionId(bob.token), "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d", "x"])
		refused(await end(id, ada.token), 404, "not_found");
	assert.ok(await isOpen(bob.token));
});

test("an API token, whatever its scopes, neither lists nor ends sessions", async () => {
	const { token } = await apiToken(client, ada, "read,write,delete");
	refused(await client.get("/auth/sessions", { token }), 400, "unsupported_operation");
	refused(await end(sessionId(ada.token), token), 400, "unsupported_operation");
	assert.ok(await isOpen(ada.token));
});

test("a session may end itself", async () => {
	const token = await login(client, bob);
	ok(await end(sessionId(token), token));
	refused(await end(sessionId(token), token), 401, "unauthorized");
});
