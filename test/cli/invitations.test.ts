/* Two people: one invites, the other registers and works: real processes against the real server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { bind, invitation, login, type Person, person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let slug: string;
let ada: Person;
let asAda: Cli;
let asBob: Cli;

before(async () => {
	server = await startServer();
	client = api(server);
	await person(client, "root");
	ada = await person(client, "ada");
	({ slug } = await realm(client, ada));
	asAda = await createCli(server, ada);
	asBob = await createCli(server);
});
after(async () => {
	for (const cli of [asAda, asBob]) await cli.close();
	await server.close();
});

test("an invited person registers with the code and has the role", async () => {
	const invited = await asAda.run(["invite", "bob@example.test", "--realm", slug, "--role", "member"]);
	assert.match(invited.stdout, /^[\w-]{32}\n$/, invited.stderr);
	assert.match((await asAda.run(["invitation", "list"])).stdout, new RegExp(`^bob@example.test +${slug}:member `, "m"));
	const password = "a password of one's own";
	const typed = `${invited.stdout}${password}\n`;
	const registered = await asBob.run(["register", "bob@example.test", "--invite", "-", "--password-stdin"], typed);
	assert.equal(registered.code, 0, registered.stderr);
	const asMember = await createCli(server, {
		...{ id: "", email: "bob@example.test", password },
		token: await login(client, { email: "bob@example.test", password }),
	});
	const set = await asMember.run(["secret", "set", "KEY", "--realm", slug, "--env", "dev"], "a value");
	await asMember.close();
	assert.equal(set.code, 0, set.stderr);
	const again = await asBob.run(["register", "eve@example.test", "--invite", "-", "--password-stdin"], typed);
	assert.equal(again.code, 3);
	assert.match(again.stderr, /^svc: \S/);
	assert.doesNotMatch(again.stderr, new RegExp(invited.stdout.trim()));
});

test("svc register names the roles that the inviter may no longer give", async () => {
	const dora = await person(client, "dora");
	await bind(client, ada, slug, dora, "admin");
	const { email, code } = await invitation(client, dora, { bindings: [{ realm: slug, role: "viewer" }] });
	const path = `/realms/${slug}/policy/bindings/${dora.id}`;
	assert.equal((await client.put(path, { role: "member" }, { token: ada.token })).status, 200);
	const typed = `${code}\na password of one's own\n`;
	const { stdout, stderr } = await asBob.run(["register", email, "--invite", "-", "--password-stdin"], typed);
	assert.equal(stdout, `registered ${email}\n`);
	assert.match(stderr, new RegExp(`^not given: viewer in ${slug}\\b`, "m"));
});
