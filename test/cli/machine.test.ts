/* A machine account from its making to its end: real processes against the real server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { apiToken, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const VALUE = "canary-of-the-value";

let server: Server;
let client: Api;
let ada: Person;
let asAda: Cli;
let slug: string;
const clis: Cli[] = [];

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	slug = (await realm(client, ada)).slug;
	await secret(client, ada, slug, "DB_URL", VALUE, { environment: "prod" });
	asAda = await as(ada.token);
});
after(async () => {
	for (const cli of clis) await cli.close();
	await server.close();
});

async function as(token: string): Promise<Cli> {
	const cli = await createCli(server, { token });
	clis.push(cli);
	return cli;
}

/** Runs a command that must succeed, and returns its standard output. */
async function did(cli: Cli, words: string): Promise<string> {
	const { code, stdout, stderr } = await cli.run([...words.split(" "), "--realm", slug]);
	assert.equal(code, 0, stderr);
	return stdout;
}

/** Makes a token of the machine. */
async function tokenOf(machine: string, words = ""): Promise<string> {
	const token = (await did(asAda, `machine token create ${machine} --ttl 1h${words}`)).trim();
	assert.match(token, /^svc_\S+$/);
	return token;
}

/** Reads the secret as the machine, and returns the command's exit code. */
async function codeOfReading(machine: Cli): Promise<number | null> {
	const { code, stdout } = await machine.run(["secret", "get", "DB_URL", "--realm", slug, "--env", "prod"]);
	assert.equal(stdout.trim(), code === 0 ? VALUE : "");
	return code;
}

test("a machine works with its token within its limits, until the machine is changed, the token revoked, or the machine deleted", async () => {
	const made = await did(asAda, "machine create deploy --env prod --description ci");
	assert.match(made, new RegExp(`^machine deploy .*viewer of ${slug} .*\\bprod\\b`));
	const [first, second] = [await as(await tokenOf("deploy", " --name first")), await as(await tokenOf("deploy"))];
	assert.deepEqual([await codeOfReading(first), await codeOfReading(second)], [0, 0]);
	assert.equal((await first.run(["secret", "set", "DB_URL", "new", "--realm", slug, "--env", "prod"])).code, 3);

	await did(asAda, "machine create deploy --env staging --change");
	assert.notEqual(await codeOfReading(first), 0);
	await did(asAda, "machine create deploy --env prod --change");
	assert.equal(await codeOfReading(first), 0);

	assert.match(await did(asAda, "machine list"), /^NAME .*\ndeploy +viewer +read +prod /);
	assert.match(await did(asAda, "machine show deploy"), /^name +deploy$/m);
	assert.match(await did(asAda, "machine token list deploy"), / first /);

	await did(asAda, "machine token revoke deploy first");
	assert.deepEqual([await codeOfReading(first), await codeOfReading(second)], [3, 0]);
	await did(asAda, "machine delete deploy --yes");
	assert.equal(await codeOfReading(second), 3);
});

test("an API token makes no machine, and a machine makes none and no token", async () => {
	await did(asAda, "machine create builder --role admin --scopes read,write,delete");
	const machine = await as(await tokenOf("builder"));
	const token = await as((await apiToken(client, ada, "read,write,delete")).token);
	for (const cli of [machine, token])
		for (const words of [
			"machine create other",
			"machine token create builder --ttl 1h",
			"machine delete builder --yes",
		]) {
			const { code, stdout } = await cli.run([...words.split(" "), "--realm", slug]);
			assert.notEqual(code, 0, words);
			assert.equal(stdout, "");
		}
	assert.doesNotMatch(await did(asAda, "machine list"), /other/);
	assert.match(await did(asAda, "machine list"), /builder/);
});

test("what is wrong is said with the next step", async () => {
	await did(asAda, "machine create nightly");
	const long = await asAda.run(["machine", "token", "create", "nightly", "--ttl", "91d", "--realm", slug]);
	assert.deepEqual([long.code, /\bttl\b.*\b90d\b/.test(long.stderr)], [1, true], long.stderr);
	const typo = await asAda.run(["machine", "show", "nihgtly", "--realm", slug]);
	assert.equal(typo.code, 4);
	assert.match(typo.stderr, /^svc: machine nihgtly .*\nhint: .*\bnightly\b.*`svc machine list`/);
});
