import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let slug: string;
let session: { cookie: string };

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	bob = await person(client, "bob");
	({ slug } = await realm(client, ada, "shop"));
	await bind(client, ada, slug, bob, "member");
	session = await enter(server, ada);
});
after(() => server.close());

/** Reads a page of the realm, as text without tags. */
async function read(path: string, who = session): Promise<string> {
	const { status, text } = await ask(server, "GET", `/console/realms/${slug}/${path}`, who);
	assert.equal(status, 200, path);
	return text.replace(/<style>.*?<\/style>/s, "").replace(/<[^>]*>/g, " ");
}

/** Sends a form of a page of the realm. @returns its status, and the message or refusal of the page that follows */
async function send(
	path: string,
	form: Record<string, string>,
	who = session,
): Promise<[status: number, text: string]> {
	const form_token = await tokenOf(server, who);
	const target = `/console/realms/${slug}/${path}`;
	const answer = await ask(server, "POST", target, { ...who, ...ours(server) }, { ...form, form_token });
	const shown = answer.status === 303 ? await ask(server, "GET", String(answer.headers.location), who) : answer;
	return [answer.status, /class="(?:notice|error)"[^>]*>([^<]*)/.exec(shown.text)?.[1] ?? ""];
}

test("only an admin gives, changes and removes roles on the Members page", async () => {
	const eve = await person(client, "eve");
	const roleOf = async () => /eve-\S+\s+(\w+)/.exec(await read("members"))?.[1];
	assert.match(
		await read("members"),
		new RegExp(`${ada.email}\\s+admin \\(owns the realm\\)\\s+${bob.email}\\s+member`),
	);
	assert.equal(await roleOf(), undefined);
	assert.equal((await send("members", { action: "add", email: eve.email, role: "viewer" }))[0], 303);
	assert.equal(await roleOf(), "viewer");
	assert.equal((await send("members", { action: "add", email: eve.email, role: "viewer" }))[0], 409);
	const change = { user_id: eve.id, role: "member" };
	assert.equal((await send("members", { action: "change", ...change }))[0], 303);
	assert.equal(await roleOf(), "member");
	assert.equal((await send("members", { action: "change", ...change, role: "king" }))[0], 400);

	const his = await enter(server, bob);
	const members = async (who: { cookie: string }) =>
		(await ask(server, "GET", `/console/realms/${slug}/members`, who)).text;
	const forms = /name="action" value="(?:add|change|remove)"|formaction="[^"]+\/invite"/g;
	assert.equal(new Set((await members(session)).match(forms)).size, 4);
	assert.doesNotMatch(await members(his), forms);
	assert.equal((await send("members", { action: "remove", ...change }, his))[0], 403);
	assert.equal(await roleOf(), "member");
	assert.equal((await send("members", { action: "remove", ...change }))[0], 303);
	assert.equal(await roleOf(), undefined);
	assert.equal((await send("members", { action: "promote" }))[0], 400);
});

test("the account page lists tokens without their values, and ends one", async () => {
	const limits = { realm: slug, environment: "prod", expires_at: "2099-01-01T00:00:00Z" };
	const mine = await apiToken(client, ada, "read,write", limits);
	const his = await apiToken(client, bob, "read");
	const tokens = async () => (await ask(server, "GET", "/console/account", session)).text;
	const shown = await tokens();
	assert.match(shown, new RegExp(`${mine.name}</th>.*read, write.*realm ${slug}, prod.*never.*2099-01-01`));
	assert.doesNotMatch(shown, new RegExp(`${mine.token}|${his.name}<`));
	const form_token = await tokenOf(server, session);
	const end = async (id: string) =>
		(await ask(server, "POST", "/console/account", { ...session, ...ours(server) }, { id, form_token })).status;
	assert.equal(await end(his.id), 404);
	assert.equal(await end(mine.id), 303);
	assert.doesNotMatch(await tokens(), new RegExp(`${mine.name}<`));
	assert.equal((await client.get("/auth/whoami", { token: mine.token })).status, 401);
	assert.equal((await client.get("/auth/whoami", { token: his.token })).status, 200);
});

test("the page Audit shows who did what, by key, person, event and day, in pages", async () => {
	await secret(client, ada, slug, "DB_URL", "one");
	ok(await client.get(`/realms/${slug}/secrets/DB_URL`, { token: bob.token }));
	const events = (text: string) => [...text.matchAll(/(?:secret|policy|realm)\.[\w.]+ /g)].map(([type]) => type.trim());
	const all = await read("audit");
	assert.deepEqual(events(all).slice(0, 2), ["secret.read", "secret.set"]);
	assert.match(
		all,
		new RegExp(`secret\\.read\\s+${bob.email}\\s+key DB_URL,\\s+environment dev,\\s+version 1,\\s+via api`),
	);
	assert.deepEqual(events(await read(`audit?key=DB_URL&actor=${bob.email}&type=&since=`)), ["secret.read"]);
	assert.deepEqual(events(await read("audit?type=realm.*")), ["realm.created"]);
	assert.deepEqual(events(await read("audit?until=2020-01-01")), []);
	assert.equal((await ask(server, "GET", `/console/realms/${slug}/audit?since=soon`, session)).status, 400);
	for (let version = 2; version <= 60; version += 1) await secret(client, ada, slug, "DB_URL", "next");
	const { text } = await ask(server, "GET", `/console/realms/${slug}/audit?key=DB_URL`, session);
	const next = /href="([^"]+cursor=[^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const second = await ask(server, "GET", next, session);
	assert.equal((second.text.match(/<th scope="row" class="type">secret/g) ?? []).length, 11);
});

test("the page Audit of the server shows what the API lists, by person and token, from People and the account", async () => {
	const of = async (path: string, who = session) => (await ask(server, "GET", path, who)).text;
	const rows = (text: string) =>
		[...text.matchAll(/<th scope="row" class="type">([^<]+)<\/th><td[^>]*>([^<]*)</g)].map(
			([, type, by]) => `${type} ${by}`,
		);
	const { id, name, token } = await apiToken(client, bob, "read,write");
	ok(await client.post(`/realms/${slug}/secrets`, { key: "BY_TOKEN", value: "one" }, { token }), 201);
	const his = await enter(server, bob);
	assert.deepEqual(rows(await of(`/console/audit?token=${id}`, his)), [`secret.set ${bob.email}`]);
	const ofBob = rows(await of(`/console/audit?actor=${bob.email}&type=auth.token.created`));
	assert.deepEqual(new Set(ofBob), new Set([`auth.token.created ${bob.email}`]));
	assert.deepEqual(rows(await of(`/console/audit?actor=${ada.email}&type=auth.*`, his)), []);
	assert.match(
		await of(`/console/people/${bob.id}`),
		new RegExp(`/console/audit\\?actor=${encodeURIComponent(bob.email)}"`),
	);
	const account = await of("/console/account", his);
	assert.match(account, new RegExp(`/console/audit\\?actor=${encodeURIComponent(bob.email)}"`));
	assert.match(account, new RegExp(`/console/audit\\?token=${id}" aria-label="[^"]*\\b${name}\\b`));
	assert.match(await of("/console/audit?env=dev&realm="), /data-label="Realm" class="whole">\S/);
	assert.equal((await ask(server, "GET", "/console/audit?env=nowhere", session)).status, 400);
	for (const who of [session, his]) assert.match(await of("/console/health", who), /href="\/console\/audit"/);
});

test("the state of the log's chain is for the instance admin alone, who verifies it there", async () => {
	const read = async (who: { cookie: string }) => ask(server, "GET", "/console/chain", who);
	const verified = (text: string) => new RegExp(`\\d+, <time[^>]*>[^<]*</time> by ${ada.email}: intact\\.`).test(text);
	assert.equal(verified((await read(session)).text), false);
	const his = await enter(server, bob);
	const refused = await read(his);
	assert.equal(refused.status, 403);
	const verify = async (who: { cookie: string }) => {
		const form_token = await tokenOf(server, who);
		return (await ask(server, "POST", "/console/chain", { ...who, ...ours(server) }, { form_token })).status;
	};
	assert.equal(await verify(his), 403);
	assert.equal(await verify(session), 303);
	const { text } = await read(session);
	assert.match(text, /class="notice"[^>]*>[^<]*\bintact\b/);
	assert.ok(verified(text), text);
	const own = await read(session);
	assert.match(own.text, /<pre>\d+ [0-9a-f]{64}<\/pre>/);
	for (const path of ["/console/health", `/console/realms/${slug}/audit`]) {
		assert.equal(verified((await ask(server, "GET", path, session)).text), true, path);
		assert.doesNotMatch((await ask(server, "GET", path, his)).text, /id="chain"/, path);
	}
});
