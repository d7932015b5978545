/* An instance admin ends one session, or one API token, of somebody. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter } from "../harness/console.ts";
import { newest } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, login, type Person, person, sessionId } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const NOBODY = "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d";

let server: Server;
let client: Api;
let admin: Person;
let ada: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	[admin, ada] = [await person(client, "admin"), await person(client, "ada")];
});
after(() => server.close());

const isOpen = async (token: string) => (await client.get("/auth/whoami", { token })).status === 200;
const endSession = (id: string, { of = ada, token = admin.token } = {}) =>
	client.delete<{ message: string }>(`/users/${of.id}/sessions/${id}`, { token });
const revokeToken = (id: string, { of = ada, token = admin.token } = {}) =>
	client.delete<{ message: string }>(`/users/${of.id}/tokens/${id}`, { token });

test("one session ends with the very next request, the others stay, and the event says whose it was", async () => {
	const other = await login(client, ada);
	assert.equal(ok(await endSession(sessionId(other))).message, "session ended");
	assert.deepEqual([await isOpen(other), await isOpen(ada.token)], [false, true]);
	const event = await newest(client, admin, "auth.session.ended");
	assert.deepEqual(
		[event?.data.session_ended, event?.data.user_id, event?.actor],
		[sessionId(other), ada.id, admin.id],
	);
	refused(await endSession(sessionId(other)), 404, "not_found");
});

test("a session in the console is one of them", async () => {
	const cookie = await enter(server, ada);
	const visit = async () => (await ask(server, "GET", "/console/account", cookie)).status;
	assert.equal(await visit(), 200);
	const { sessions } = ok(
		await client.get<{ sessions: { id: string }[] }>(`/users/${ada.id}/sessions`, { token: admin.token }),
	);
	const id = sessions.map((one) => one.id).find((one) => one !== sessionId(ada.token));
	ok(await endSession(id ?? ""));
	assert.equal(await visit(), 401);
});

test("one API token ends with those that it made, the others stay, and the event says whose it was", async () => {
	const first = await apiToken(client, ada, "read,write");
	const made = await apiToken(client, { ...ada, token: first.token }, "read");
	const other = await apiToken(client, ada, "read");
	assert.equal(ok(await revokeToken(first.id)).message, "token revoked");
	const open = await Promise.all([first.token, made.token, other.token].map(isOpen));
	assert.deepEqual(open, [false, false, true]);
	const event = await newest(client, admin, "auth.token.revoked");
	const facts = event?.data;
	assert.deepEqual([facts?.token_revoked, facts?.user_id, facts?.also_ended], [first.id, ada.id, 1]);
	assert.equal(event?.actor, admin.id);
	refused(await revokeToken(first.id), 404, "not_found");
});

test("the id must be one of that account", async () => {
	const bob = await person(client, "bob");
	const his = await apiToken(client, bob, "read");
	for (const id of [sessionId(bob.token), NOBODY, "x"]) refused(await endSession(id), 404, "not_found");
	for (const id of [his.id, NOBODY, "x"]) refused(await revokeToken(id), 404, "not_found");
	const nobody = { ...bob, id: NOBODY };
	refused(await endSession(sessionId(bob.token), { of: nobody }), 404, "not_found");
	refused(await revokeToken(his.id, { of: nobody }), 404, "not_found");
	assert.deepEqual([await isOpen(bob.token), await isOpen(his.token)], [true, true]);
});

test("only the instance admin does it, and a token needs the scope delete", async () => {
	const mine = await apiToken(client, ada, "read");
	const { token } = ada;
	refused(await endSession(sessionId(token), { token }), 403, "forbidden");
	refused(await revokeToken(mine.id, { token }), 403, "forbidden");
	const weak = await apiToken(client, admin, "read,write");
	refused(await endSession(sessionId(token), { token: weak.token }), 403, "insufficient_scope");
	refused(await revokeToken(mine.id, { token: weak.token }), 403, "insufficient_scope");
	assert.deepEqual([await isOpen(token), await isOpen(mine.token)], [true, true]);
});

test("a token of a disabled account can be revoked, so that it does not come back", async () => {
	const eve = await person(client, "eve");
	const hers = await apiToken(client, eve, "read");
	const set = async (verb: "disable" | "enable") =>
		ok(await client.post(`/users/${eve.id}/${verb}`, undefined, { token: admin.token }));
	await set("disable");
	ok(await revokeToken(hers.id, { of: eve }));
	await set("enable");
	assert.equal(await isOpen(hers.token), false);
});
