/* Questions to the log through `svc audit`: a mistyped one does not look like "nobody did it". */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { EVENT_TYPES as KNOWN } from "../../packages/cli/src/formats/event-types.ts";
import { EVENT_TYPES } from "../../packages/server/src/audit/event-types.ts";
import { textOf } from "../docs/markdown.ts";
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
async function says(line: string, code: number, message: RegExp): Promise<void> {
	const outcome = await cli.run(["audit", ...line.split(" ")]);
	assert.equal(outcome.code, code, outcome.stderr);
	assert.match(outcome.stderr, message);
}

test("the client knows every type of event that the server writes", () => {
	assert.deepEqual(KNOWN, EVENT_TYPES);
});

test("an unknown type of event is refused with a suggestion", async () => {
	await says("list --type nonsense", 2, / nonsense\nhint: .*\bauth, .*secret.*'secret\.\*'/);
	await says("--type secret.st", 2, / secret\.st\nhint: .* secret\.set\b/);
	await says("--type secert.*", 2, /\nhint: .* secret\.\*/);
	await says("--type secret*", 2, /\nhint: .* 'secret\.\*'/);
	await says("--type secret", 2, /\nhint: .* 'secret\.\*'/);
	await says("--type secret.st --follow", 2, /\nhint: .* secret\.set\b/);
	for (const type of ["backup.failed", "lease.*", "auth.login.*"])
		await says(`--type ${type} --until 2020-01-01`, 0, /^no events$/m);
});

test("an unknown realm and a mistyped key get a suggestion; with --json the list is empty and no event is written", async () => {
	await says(`--realm ${slug}x`, 4, new RegExp(`realm ${slug}x .*\nhint: .* ${slug}\\?`));
	await says(`--realm ${slug} --key DB_ULR`, 0, / DB_ULR\b.* DB_URL\b/);
	await says(`--realm ${slug} --key DB_URL --until 2020-01-01`, 0, /^no events$/m);
	const before = await count();
	const { code, stdout } = await cli.run(["audit", "--realm", slug, "--key", "DB_ULR", "--json"]);
	assert.deepEqual([code, JSON.parse(stdout)], [0, { events: [] }]);
	assert.equal(await count(), before);
});

/** The command of the documentation that finds a key's events in an export. */
const QUESTION = /```sh\n(jq -rs --arg key DB_URL[\s\S]*?)```/.exec(textOf("docs/incidents.md"))?.[1] ?? "";
const skip = spawnSync("jq", ["--version"]).status === 0 ? false : "jq is not installed: apt-get install jq";

test("an export has the keys of bulk reads, each part once, so a file alone shows who read a key", {
	skip,
}, async () => {
	const file = join(cli.home, "audit.jsonl");
	const svc = async (line: string, code = 0) => {
		const outcome = await cli.run(line.split(" "));
		assert.equal(outcome.code, code, outcome.stdout + outcome.stderr);
		return outcome.stdout;
	};
	for (let read = 0; read < 2; read++) await svc(`export --realm ${slug} --env dev --format json`);
	await svc(`set OTHER value --realm ${slug} --env prod`);
	await svc(`export --realm ${slug} --env prod --format json`);
	await svc(`audit export --realm ${slug} --since 1h --output ${file}`);
	const content = await readFile(file, "utf8");
	const lines = content
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	assert.deepEqual(
		lines.flatMap(({ keys }) => (keys === undefined ? [] : [keys])),
		[["DB_URL"], ["OTHER"]],
	);
	assert.match(await svc(`audit verify --file ${file}`), /^status +intact$/m);
	const found = spawnSync("sh", ["-c", QUESTION], { cwd: cli.home, encoding: "utf8" });
	assert.deepEqual(
		found.stdout
			.trimEnd()
			.split("\n")
			.map((line) => line.split("\t").slice(1)),
		[
			["secret.set", ada.id],
			["secret.list", ada.id],
			["secret.list", ada.id],
		],
		found.stderr,
	);
	await writeFile(file, content.replace('"keys":["DB_URL"]', '"keys":["DB_URI"]'));
	assert.match(await svc(`audit verify --file ${file}`, 1), /\bkeys\b/);
});
