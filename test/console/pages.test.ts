import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
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

test("the page Audit shows who did what, by key, person, event and day, in pages", async () => {
	await secret(client, ada, slug, "DB_URL", "one");
	ok(await client.get(`/realms/${slug}/secrets/DB_URL`, { token: bob.token }));
	const events = (text: string) => [...text.matchAll(/(?:secret|policy|realm)\.[\w.]+ /g)].map(([type]) => type.trim());
	const all = await read("audit");
	assert.deepEqual(events(all).slice(0, 2), ["secret.read", "secret.set"]);
	assert.match(all, new RegExp(`secret\\.read\\s+${bob.email}\\s+key DB_URL, environment dev, version 1, via api`));
	assert.deepEqual(events(await read(`audit?key=DB_URL&actor=${bob.email}&type=&since=`)), ["secret.read"]);
	assert.deepEqual(events(await read("audit?type=policy.*")), ["policy.binding.created"]);
	assert.deepEqual(events(await read("audit?until=2020-01-01")), []);
	assert.equal((await ask(server, "GET", `/console/realms/${slug}/audit?since=soon`, session)).status, 400);
	for (let version = 2; version <= 60; version += 1) await secret(client, ada, slug, "DB_URL", "next");
	const { text } = await ask(server, "GET", `/console/realms/${slug}/audit?key=DB_URL`, session);
	const next = /href="([^"]+cursor=[^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const second = await ask(server, "GET", next, session);
	assert.equal((second.text.match(/<th scope="row">secret/g) ?? []).length, 11);
});
