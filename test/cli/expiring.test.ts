/* What ends soon, as a member's client shows it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { newest } from "../harness/events.ts";
import { apiToken, bind, machine, machineToken, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let ada: Person;
let slug: string;
const clis: Cli[] = [];

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	slug = (await realm(client, ada)).slug;
	const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
	await secret(client, ada, slug, "SOON", "canary-of-the-value", { expires_at: inDays(3), environment: "prod" });
	await secret(client, ada, slug, "LATE", "canary-of-the-value", { expires_at: inDays(30) });
	await secret(client, ada, slug, "NEVER", "canary-of-the-value");
	await apiToken(client, ada, "read", { expires_at: inDays(5) });
});
after(async () => {
	for (const cli of clis) await cli.close();
	await server.close();
});

async function expiring(who: Pick<Person, "token">, words: readonly string[]) {
	const cli = await createCli(server, who);
	clis.push(cli);
	const { code, stdout, stderr } = await cli.run(["expiring", "--json", ...words]);
	assert.equal(code, 0, stderr);
	assert.doesNotMatch(stdout + stderr, /canary/);
	return JSON.parse(stdout) as { expiring: { kind: string; name: string }[]; unseen: string[] };
}

test("svc expiring shows secrets and tokens that end in time, and the log says that no value was read", async () => {
	const soon = await expiring(ada, []);
	assert.deepEqual(
		soon.expiring.map(({ kind, name }) => (kind === "secret" ? name : kind)),
		["SOON", "token"],
	);
	const listed = await newest(client, ada, "secret.list");
	assert.deepEqual([listed?.actor, listed?.data.values], [ada.id, false]);
	const later = await expiring(ada, ["--within", "31d"]);
	assert.ok(later.expiring.some(({ name }) => name === "LATE"));
	assert.ok(later.expiring.every(({ name }) => name !== "NEVER"));
});

test("a token for one environment sees the secrets of no other", async () => {
	const { token } = await apiToken(client, ada, "read", { realm: slug, environment: "prod" });
	const { expiring: found } = await expiring({ token }, ["--within", "31d", "--realm", slug]);
	assert.deepEqual(
		found.filter(({ kind }) => kind === "secret").map(({ name }) => name),
		["SOON"],
	);
});

test("an admin of a realm sees the tokens of its machines that end in time, a member does not", async () => {
	const made = await machine(client, ada, slug, { environment: "dev" });
	await machineToken(client, ada, slug, made.name, "12h");
	await machineToken(client, ada, slug, made.name, "80d");
	const ofMachines = (found: { kind: string; name: string }[]) =>
		found.filter(({ kind }) => kind === "machine token").map(({ name }) => name.split(" ")[0]);
	assert.deepEqual(ofMachines((await expiring(ada, [])).expiring), [made.name]);
	const bob = await person(client, "bob");
	await bind(client, ada, slug, bob, "member");
	const seen = await expiring(bob, []);
	assert.deepEqual([ofMachines(seen.expiring), seen.unseen], [[], [`machines of ${slug}`]]);
});
