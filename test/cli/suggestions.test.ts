/* The client names what a person typed and suggests what is near, only from what that person may list. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { newest } from "../harness/events.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, machine, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let slug: string;
const clis: Cli[] = [];

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	bob = await person(client, "bob");
	slug = (await realm(client, ada)).slug;
	await secret(client, ada, slug, "DB_URI", "canary-of-the-value");
});
after(async () => {
	for (const cli of clis) await cli.close();
	await server.close();
});

async function fail(who: Pick<Person, "token">, line: string): Promise<string> {
	const cli = await createCli(server, who);
	clis.push(cli);
	const { code, stderr } = await cli.run(line.split(" "));
	assert.equal(code, 4, stderr);
	assert.doesNotMatch(stderr, /canary/);
	return stderr;
}

test("a member learns which key or realm was meant", async () => {
	const key = await fail(ada, `secret get DB_URL --realm ${slug}`);
	assert.match(key, new RegExp(`^svc: secret DB_URL .*${slug}/dev\nhint: .* DB_URI\\?`));
	const other = await fail(ada, `secret get DB_URI --realm ${slug} --env prod`);
	assert.match(other, /\nhint: .*--env dev\b/);
	const near = await fail(ada, `realm show ${slug}x`);
	assert.match(near, new RegExp(`^svc: realm ${slug}x .*\nhint: .* ${slug}\\?`));
});

test("a mistyped name of something deleted, of a trust or of a person is suggested, too", async () => {
	await secret(client, ada, slug, "GONE_KEY", "canary-of-the-value");
	const gone = await realm(client, ada, "gone");
	ok(await client.delete(`/realms/${slug}/secrets/GONE_KEY?env=dev`, { token: ada.token }));
	ok(await client.delete(`/realms/${gone.slug}`, { token: ada.token }));
	const { name } = await machine(client, ada, slug);
	const keys = { keys: [newKey("ES256", "own").jwk] };
	const trust = { issuer: "https://id.example.com", audience: "svc-shop", claims: { sub: "ci" }, jwks: keys };
	ok(await client.put(`/realms/${slug}/machines/${name}/trusts/github`, trust, { token: ada.token }));
	const rows = [
		[`secret restore GONE_KYE --realm ${slug}`, `deleted secret GONE_KYE .*${slug}/dev`, "GONE_KEY"],
		[`realm restore ${gone.slug}x`, `deleted realm ${gone.slug}x .*`, gone.slug],
		[`machine trust show ${name} gihub --realm ${slug}`, "trust gihub .*", "github"],
		[`users show x${bob.email}`, `user x${bob.email} .*`, bob.email],
	];
	for (const [line = "", message, near] of rows) {
		const stderr = await fail(ada, line);
		assert.match(stderr, new RegExp(`^svc: ${message}\nhint: .* ${near}\\?`));
	}
	const elsewhere = await fail(ada, `secret restore GONE_KEY --realm ${slug} --env prod`);
	assert.match(elsewhere, /\nhint: .*--env dev\b/);
	const other = await fail(ada, `secret restore GONE_KEY --id 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d --realm ${slug}`);
	assert.doesNotMatch(other, /--env/);
});

test("a stranger learns nothing about a realm, whether its name is exact or nearly so", async () => {
	const nowhere = await fail(bob, "realm show nowhere");
	assert.match(nowhere, /^svc: realm nowhere .*\nhint: `svc realm list`/);
	for (const typed of [slug, `${slug}x`])
		for (const line of [`realm show ${typed}`, `secret get DB_URL --realm ${typed}`])
			assert.equal(await fail(bob, line), nowhere.replace("nowhere", typed));
});

test("a token for one environment learns nothing about the others", async () => {
	const body = { realm: slug, environment: "prod" };
	const { token } = await apiToken(client, ada, "read", body);
	const stderr = await fail({ token }, `secret get DB_URL --realm ${slug} --env prod`);
	assert.doesNotMatch(stderr, /DB_URI|dev/);
});

test("names for suggestions are read with the caller's rights and without values, as the audit log shows", async () => {
	await bind(client, ada, slug, bob, "viewer");
	await fail(bob, `secret get DB_URL --realm ${slug}`);
	const listed = await newest(client, ada, "secret.list");
	assert.deepEqual([listed?.actor, listed?.data.values], [bob.id, false]);
});
