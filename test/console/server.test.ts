/* The pages of the server: what they show, and to whom. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter, ours } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let eve: Person;
let admin: { cookie: string };
let other: { cookie: string };

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	eve = await person(client, "eve");
	admin = await enter(server, root);
	other = await enter(server, eve);
});
after(() => server.close());

/** Reads a page, as text without tags. */
async function read(path: string, who = admin): Promise<string> {
	const { status, text } = await ask(server, "GET", path, who);
	assert.equal(status, 200, path);
	return text.replace(/<style>.*?<\/style>/s, "").replace(/<[^>]*>/g, " ");
}

test("Health draws what the server answered, and has the same numbers as a table", async () => {
	const { slug } = await realm(client, root, "shop");
	await secret(client, root, slug, "DB_URL", "one");
	for (let count = 0; count < 4; count++) ok(await client.get("/realms", { token: root.token }));
	for (let count = 0; count < 3; count++) assert.equal((await client.get("/keys", { token: eve.token })).status, 403);
	const wrong = { email: eve.email, password: "another password" };
	assert.equal((await client.post("/auth/login", wrong)).status, 401);
	assert.equal((await ask(server, "POST", "/console/sign-in", ours(server), wrong)).status, 401);
	for (const span of ["hour", "day"]) {
		const { text } = await ask(server, "GET", `/console/health?of=${span}`, other);
		assert.match(text, /The server is healthy/);
		assert.equal((text.match(/<svg /g) ?? []).length, 5);
		assert.match(text, /role="img" aria-label="Denials [^"]*: at most 3\./);
		const cells = [...text.matchAll(/data-label="([^"]+)">([^<]*)/g)];
		const sum = (label: string) =>
			cells.filter(([, name]) => name === label).reduce((all, [, , value]) => all + Number(value), 0);
		assert.deepEqual([sum("Denials"), sum("Failed sign-ins")], [3, 2]);
		assert.ok(sum("Reads") >= 4 && sum("Writes") >= 6);
		assert.doesNotMatch(text, new RegExp(`${slug}|DB_URL`), "it names no realm and no key");
	}
	assert.equal((await ask(server, "GET", "/console/health")).status, 401);
	assert.match(await read("/console"), /Health of this server/);
});
