/* Tables for people: names in place of the ids of people. Real processes against the real server. Design: §15 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { api } from "../harness/client.ts";
import { type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";

let server: Server;
let ada: Person;
let cli: Cli;

before(async () => {
	server = await startServer();
	ada = await person(api(server), "ada");
	const bob = await person(api(server), "bob");
	cli = await createCli(server, ada, { SVC_REALM: "shop" });
	const keys = join(cli.home, "keys.json");
	await writeFile(keys, JSON.stringify({ keys: [newKey("ES256", "own").jwk] }));
	await did("realm create shop");
	await did("secret set DB_URL value --env dev");
	await did("secret set GONE value --env dev");
	await did("secret delete GONE --env dev --yes");
	await did(`binding add ${bob.email} viewer`);
	await did("machine create deploy");
	await did("machine token create deploy --ttl 1h");
	await did(
		`machine trust add oidc deploy --trust-domain prod.example.com --claim sub=spiffe://prod.example.com/ci --keys ${keys}`,
	);
	await did("invite carol@example.com --realm shop --role viewer");
	await did("realm create old");
	await did("realm delete old --yes");
});
after(async () => {
	await cli.close();
	await server.close();
});

/** Runs a command that must succeed, and returns its standard output. */
async function did(words: string): Promise<string> {
	const { code, stdout, stderr } = await cli.run(words.split(" "));
	assert.equal(code, 0, stderr);
	return stdout;
}

const NAMED = [
	...["realm list", "realm show shop", "realm list --deleted", "binding list", "machine show deploy"],
	...["machine token list deploy", "machine trust show deploy oidc", "invitation list", "policy explain"],
	...["secret history DB_URL --env dev", "secret list --deleted --env dev"],
];
for (const words of NAMED)
	test(`svc ${words} names a person by e-mail`, async () => {
		const shown = await did(words);
		assert.ok(shown.includes(ada.email), shown);
		assert.ok(!shown.includes(ada.id), shown);
	});
