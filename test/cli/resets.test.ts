/* A forgotten password, from the instance admin's command to the new login: real processes against the real server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { refused } from "../harness/expect.ts";
import { login, type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let ada: Person;
let asRoot: Cli;
let asNobody: Cli;

before(async () => {
	server = await startServer();
	client = api(server);
	asRoot = await createCli(server, await person(client, "root"));
	ada = await person(client, "ada");
	asNobody = await createCli(server);
});
after(async () => {
	for (const cli of [asRoot, asNobody]) await cli.close();
	await server.close();
});

test("somebody who forgot the password signs in with a new one", async () => {
	const { stdout: code, stderr } = await asRoot.run(["users", "reset", ada.email]);
	assert.match(code, /^[\w-]{32}\n$/, stderr);
	const password = "a password that was set anew";
	const reset = await asNobody.run(["reset", ada.email, "--password-stdin"], `${code}${password}\n`);
	assert.equal(reset.code, 0, reset.stderr);
	await login(client, { email: ada.email, password });
	refused(await client.get("/auth/whoami", { token: ada.token }), 401);
	const again = await asNobody.run(["reset", ada.email, "--password-stdin"], `${code}${password}\n`);
	assert.equal(again.code, 3);
	assert.match(again.stderr, /^svc: \S/);
	assert.doesNotMatch(again.stderr, new RegExp(code.trim()));
});
