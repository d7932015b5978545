/* The commands an administrator types on a bad day: real processes against the real server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli, type Outcome } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let ada: Person;
let slug: string;
const clis: Cli[] = [];
let asRoot: Cli;
let asAda: Cli;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	ada = await person(client, "ada");
	slug = (await realm(client, root)).slug;
	await secret(client, root, slug, "KEY", "a value");
	await bind(client, root, slug, ada, "viewer");
	asRoot = await createCli(server, root);
	asAda = await createCli(server, ada);
	clis.push(asRoot, asAda);
});
after(async () => {
	for (const cli of clis) await cli.close();
	await server.close();
});

async function svc(cli: Cli, code: number, line: string): Promise<Outcome> {
	const outcome = await cli.run(line.split(" "));
	assert.equal(outcome.code, code, `svc ${line}: ${outcome.stdout}${outcome.stderr}`);
	return outcome;
}

test("all keys are replaced by two commands, and what was stored before is read after them", async () => {
	const before = JSON.parse((await svc(asRoot, 0, "keys status --json")).stdout);
	const old: string = before.master.fingerprint;
	assert.match((await svc(asRoot, 2, "keys rotate --master")).stderr, /--yes/);
	const { stdout } = await svc(asRoot, 0, "keys rotate --master --yes");
	assert.match(stdout, new RegExp(`[0-9a-f]{16}\\b.* ${old}\\b`));
	assert.equal((await svc(asRoot, 0, "keys rotate --data --yes")).stdout.trim().split("\n").length, 6);
	await svc(asRoot, 0, `keys rotate --data --realm ${slug} --yes`);
	const status = JSON.parse((await svc(asRoot, 0, "keys status --json")).stdout);
	assert.notEqual(status.master.fingerprint, old);
	assert.deepEqual(status.realm_keys, { active: 1, retired: 1 });
	const { token } = root;
	assert.equal(ok(await client.get<Secret>(secretPath(slug, "KEY"), { token })).value, "a value");
	await svc(asAda, 3, "keys status");
	await svc(asRoot, 4, "keys status --realm nowhere");
});

test("somebody sees what they may do and what gives them the rest, and somebody else does not", async () => {
	const { stdout, stderr } = await svc(asAda, 0, `policy explain --realm ${slug}`);
	assert.match(stdout, /^secrets:read +read +yes .*\bviewer\b/m);
	assert.match(stderr, new RegExp(`svc binding set ${ada.id} member --realm ${slug}`));
	const about = `policy explain --realm ${slug} --user ${ada.email} --capability secrets:write`;
	assert.match((await svc(asRoot, 0, about)).stdout, /^secrets:write +write +no /m);
	await svc(asAda, 3, `policy explain --realm ${slug} --user ${root.email}`);
	await svc(asAda, 4, "policy explain --realm nowhere");
});

test("somebody who has left is shut out by e-mail: what they hold ends, and they can no longer sign in", async () => {
	const { token } = await apiToken(client, ada, "read");
	assert.match((await svc(asRoot, 0, "users list")).stdout, new RegExp(`${ada.id} +${ada.email} `));
	assert.match((await svc(asRoot, 0, `users show ${ada.email}`)).stdout, /^sessions +1\ntokens +1$/m);
	await svc(asRoot, 0, `users disable ${ada.email} --yes`);
	const { stdout } = await svc(asRoot, 0, `revoke --user ${ada.email} --yes`);
	assert.match(stdout, / 0\n.* 1\n/);
	await svc(asRoot, 0, `users enable ${ada.email}`);
	refused(await client.get("/realms", { token }), 401, "unauthorized");
	await svc(asAda, 3, "realm list");
	await svc(asRoot, 4, "revoke --user nobody@example.test --yes");
	await svc(asRoot, 0, `revoke --user ${root.email} --yes`);
	await svc(asRoot, 0, "users list");
});
