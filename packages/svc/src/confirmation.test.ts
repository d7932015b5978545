import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { buildProgram, runCli } from "@svc/cli";
import { leavesOf } from "@svc/cli/command-tree";
import { page, startService } from "../../cli/src/testing/fake-server.ts";
import { fakeIo, type Surroundings } from "../../cli/src/testing/terminal.ts";
import { LOCAL_COMMANDS } from "./local-commands.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Commands that ask a server to do what cannot be undone, or cuts people and programs off, with words that make them do it. */
const ASKS: Readonly<Record<string, readonly string[]>> = {
	"realm delete": ["shop"],
	"realm transfer": ["shop", "--to", "ada@a.example"],
	"realm leave": ["shop"],
	"secret delete": ["OLD_KEY", "--realm", "shop", "--purge"],
	"engine remove": ["keyvalue"],
	"sso remove": ["corp"],
	"lease abandon": ["i", "--reason", "gone"],
	"lease revoke-all": ["--engine", "keyvalue"],
	"machine delete": ["deploy", "--realm", "shop"],
	"machine trust remove": ["deploy", "github", "--realm", "shop"],
	"users disable": ["ada@a.example"],
	"users admin": ["ada@a.example", "--remove"],
	"users drop-second-factor": ["ada@a.example"],
	revoke: ["--realm", "shop"],
	"keys rotate": ["--data"],
};

/** Commands that ask after they have shown something, each with the test of its question. */
const ASKS_LATER: Readonly<Record<string, string>> = {
	"account link": "packages/cli/src/commands/account.test.ts",
	promote: "packages/cli/src/commands/promote.test.ts",
	restore: "test/backup/restore.test.ts",
	adopt: "test/backup/migration.test.ts",
	recover: "test/backup/recover.test.ts",
	uninstall: "packages/svc/src/install/install.test.ts",
	"nodes accept-loss": "test/postgres/accept-loss.test.ts",
	"engine install": "test/engines/sdk/engine-install.long.test.ts",
};

/** Commands that end or replace something without a question, with the reason. */
const UNASKED: Readonly<Record<string, string>> = {
	"secret rollback": "the current version stays in the history",
	"secret restore": "it brings back",
	"realm restore": "it brings back",
	"realm edit": "the old words can be given again",
	"invitation delete": "nobody has used it, and another is made immediately",
	"binding remove": "the role can be given again",
	"lease revoke": "one credential, which a program makes again",
	"lease resume": "what it revokes had ended before the restore",
	"token revoke": "one token; after a leak nobody should have to answer a question",
	"machine token revoke": "one token; after a leak nobody should have to answer a question",
	"account unlink": "it asks for the password",
	"factor remove": "it asks for the password and a code",
	"factor recovery": "it asks for the password and a code",
	"factor confirm": "the code of an app that was just added",
	logout: "a login brings it back",
	"session end": "a login brings it back; one that is not yours must end immediately",
	"users reset": "a code that nobody uses changes nothing",
	reset: "it asks for the new password twice",
	"database migrate": "a server whose role may do it does the same when it starts",
};

/** Last words of commands that only add, show, or write a new version. */
const HARMLESS = new Set(
	(
		"list show create set get add enable history diff export import run encrypt explain generate validate ping test login register " +
		"password whoami github gitlab kubernetes oidc init link identities find limits health status doctor download verify manifest k8s " +
		"version server new install invite audit history completion bash zsh fish ls expiring nodes roles help"
	).split(" "),
);

const program = buildProgram(fakeIo().io, LOCAL_COMMANDS, () => undefined);
const leaves = leavesOf(program).map(({ words, command }) => ({ name: words.join(" "), command }));

test("every command that destroys something asks, or says why it does not", () => {
	const classified = new Set([...Object.keys(ASKS), ...Object.keys(ASKS_LATER), ...Object.keys(UNASKED)]);
	const isKnown = (name: string) => classified.has(name) || HARMLESS.has(name.split(" ").at(-1) ?? "");
	const unknown = leaves.filter(({ name }) => !isKnown(name)).map(({ name }) => name);
	assert.deepEqual(unknown, [], "say in this file whether they ask");
	const gone = [...classified].filter((name) => !leaves.some((leaf) => leaf.name === name));
	assert.deepEqual(gone, []);
	for (const file of Object.values(ASKS_LATER)) assert.ok(existsSync(join(ROOT, file)), file);
});

test("the commands that ask take --yes, and no other does", () => {
	const takingYes = leaves.filter(({ command }) => command.options.some(({ long }) => long === "--yes"));
	assert.deepEqual(
		new Set(takingYes.map(({ name }) => name)),
		new Set([...Object.keys(ASKS), ...Object.keys(ASKS_LATER)]),
	);
});

/** Runs a command against a server that does everything, and returns what it changed there. */
async function changes(argv: readonly string[], surroundings: Surroundings) {
	const ada = { id: "i", email: "ada@a.example", instance_admin: true };
	await using server = await startService(({ method, url }) => {
		if (method === "GET") return url.includes("users?") ? page("users", [ada]) : { body: ada };
		return { body: { id: "i", message: "done", sessions: 0, tokens: 0, leases: 0, identities: 0, count: 0 } };
	});
	const { io, outcome } = fakeIo({ ...surroundings, env: server.env });
	const { code, stderr } = outcome(await runCli(argv, io, LOCAL_COMMANDS));
	return { code, stderr, count: server.requests.filter(({ method }) => method !== "GET").length };
}

describe("a command that destroys something", () => {
	for (const [name, words] of Object.entries(ASKS)) {
		const argv = [...name.split(" "), ...words];
		test(`svc ${name} does nothing without a yes`, async () => {
			const [nobody, no, enter] = [{}, { typed: ["n\n"] }, { typed: ["\n"] }];
			const unasked = await changes(argv, nobody);
			assert.match(unasked.stderr, /--yes\b/);
			assert.deepEqual([unasked.code, unasked.count], [2, 0]);
			for (const answer of [no, enter]) {
				const refused = await changes(argv, answer);
				assert.match(refused.stderr, /\?.*\[y\/N\].*svc: nothing was /s);
				assert.deepEqual([refused.code, refused.count], [1, 0]);
			}
			for (const [more, answer] of [
				[[], { typed: ["y\n"] }],
				[["--yes"], nobody],
			] as const) {
				const done = await changes([...argv, ...more], answer);
				assert.ok(done.count > 0, done.stderr);
			}
		});
	}
});
