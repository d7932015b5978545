/* A second factor from its making to its loss: the real program against the real server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Cli, createCli } from "../harness/cli.ts";
import { api } from "../harness/client.ts";
import { type Person, person } from "../harness/fixtures.ts";
import { nextCode } from "../harness/totp.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let root: Person;
let asRoot: Cli;

before(async () => {
	server = await startServer();
	root = await person(api(server), "root");
	asRoot = await createCli(server, root);
});
after(async () => {
	await asRoot.close();
	await server.close();
});

const login = (stdin: string) => asRoot.run(["login", root.email, "--password-stdin"], stdin);

test("a login asks for a code, a reset keeps asking, and recovering the account without it needs a new password", async () => {
	const added = await asRoot.run(["factor", "add", "--password-stdin", "--json"], `${root.password}\n`);
	assert.equal(added.code, 0, added.stderr);
	const { id, secret } = JSON.parse(added.stdout) as { id: string; secret: string };
	const confirmed = await asRoot.run(["factor", "confirm", id, "--code-stdin"], `${await nextCode(secret)}\n`);
	assert.match(confirmed.stdout, /^(?:[0-9A-Z]{5}-[0-9A-Z]{5}\n){10}$/, confirmed.stderr);
	const [recovery = ""] = confirmed.stdout.split("\n");
	const without = await login(`${root.password}\n`);
	assert.equal(without.code, 3);
	assert.match(without.stderr, /second factor\nhint: /);
	const withCode = await login(`${root.password}\n${await nextCode(secret)}\n`);
	assert.equal(withCode.code, 0, withCode.stderr);
	assert.match((await asRoot.run(["factor", "list"])).stdout, new RegExp(`^${id} +totp .*asked for$`, "m"));
	await server.stop();
	const kept = await runLocal(server.data, ["recover", root.email, "--yes"]);
	await server.restart();
	const password = "a password that was set anew";
	const reset = await asRoot.run(["reset", root.email, "--password-stdin"], `${kept.stdout}${password}\n`);
	assert.equal(reset.code, 0, reset.stderr);
	assert.equal((await login(`${password}\n`)).code, 3);
	assert.equal((await login(`${password}\n${recovery}\n`)).code, 0);
	await server.stop();
	const dropped = await runLocal(server.data, ["recover", root.email, "--yes", "--drop-second-factor"]);
	assert.match(dropped.stderr, /\bfactors\b.*\b1\b/);
	const look = await runLocal(server.data, ["adopt", "--look", "--json"]);
	assert.equal(JSON.parse(look.stdout).status, "sound", look.stdout);
	await server.restart();
	assert.equal((await login(`${password}\n`)).code, 3, "the old password no longer signs in");
	const anew = "a password that was set once more";
	const second = await asRoot.run(["reset", root.email, "--password-stdin"], `${dropped.stdout}${anew}\n`);
	assert.equal(second.code, 0, second.stderr);
	const again = await login(`${anew}\n`);
	assert.equal(again.code, 0, again.stderr);
});
