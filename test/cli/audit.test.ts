/* Questions to the log through `svc audit`: a mistyped one does not look like "nobody did it". */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVENT_TYPES as KNOWN } from "../../packages/cli/src/formats/event-types.ts";
import { EVENT_TYPES } from "../../packages/server/src/audit/model.ts";
import { type Cli, createCli } from "../harness/cli.ts";
import { api } from "../harness/client.ts";
import { newest } from "../harness/events.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";

let ada: Person;
let cli: Cli;
let slug: string;
let count: () => Promise<string | undefined>;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	const server = await startServer();
	ends.defer(server.close);
	const client = api(server);
	ada = await person(client, "ada");
	slug = (await realm(client, ada)).slug;
	await secret(client, ada, slug, "DB_URL", "a value");
	cli = await createCli(server, ada);
	ends.defer(cli.close);
	count = async () => (await newest(client, ada, "secret.list"))?.id;
});

/** Runs `svc audit` and compares its exit code and what it says to a person. */
async function says(line: string, code: number, told: RegExp): Promise<void> {
	const outcome = await cli.run(["audit", ...line.split(" ")]);
	assert.equal(outcome.code, code, outcome.stderr);
	assert.match(outcome.stderr, told);
}

test("the client knows every type of event that the server writes", () => {
	assert.deepEqual(KNOWN, EVENT_TYPES);
});

test("a type of event that does not exist is refused, and the one that was meant is named", async () => {
	await says(
		"list --type nonsense",
		2,
		/no type of event nonsense\nhint: types begin with auth, .*secret.*'secret\.\*'/,
	);
	await says("--type secret.st", 2, /no type of event secret\.st\nhint: did you mean secret\.set\?/);
	await says("--type secert.*", 2, /hint: did you mean secret\.\*\?/);
	await says("--type secret*", 2, /hint: did you mean 'secret\.\*'\?/);
	await says("--type secret", 2, /hint: did you mean 'secret\.\*'\?/);
	await says("--type secret.st --follow", 2, /did you mean secret\.set\?/);
	for (const type of ["backup.failed", "lease.*", "auth.login.*"])
		await says(`--type ${type} --until 2020-01-01`, 0, /^no events$/m);
});

test("a realm that is not there, and a key near another, are named; programs get an empty list and leave no event", async () => {
	await says(`--realm ${slug}x`, 4, new RegExp(`realm ${slug}x not found\nhint: did you mean ${slug}\\?`));
	await says(`--realm ${slug} --key DB_ULR`, 0, /^no events of DB_ULR: did you mean DB_URL\?$/m);
	await says(`--realm ${slug} --key DB_URL --until 2020-01-01`, 0, /^no events$/m);
	const before = await count();
	const { code, stdout } = await cli.run(["audit", "--realm", slug, "--key", "DB_ULR", "--json"]);
	assert.deepEqual([code, JSON.parse(stdout)], [0, { events: [] }]);
	assert.equal(await count(), before);
});
