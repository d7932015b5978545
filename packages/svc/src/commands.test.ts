import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { buildProgram, RUNS_PROGRAM, runCli } from "@svc/cli";
import { asksServer, type Leaf, leavesOf } from "@svc/cli/command-tree";
import { EXIT } from "@svc/cli/failure";
import { freePort } from "../../../test/peers/free-port.ts";
import { saveServer } from "../../cli/src/client/session.ts";
import { type FakeServer, identityOf, refusal, startFake } from "../../cli/src/testing/fake-server.ts";
import { fakeIo, type Outcome, temporaryFolder } from "../../cli/src/testing/terminal.ts";
import { LOCAL_COMMANDS } from "./local-commands.ts";

const leaves = leavesOf(buildProgram(fakeIo().io, LOCAL_COMMANDS, () => undefined));
const asking = leaves.filter(({ command }) => asksServer(command));
const nameOf = ({ words }: Leaf) => words.join(" ");

/** Values for arguments of these names; all others get `shop`. */
const ARGUMENTS: Readonly<Record<string, string>> = { version: "3", from: "staging", to: "prod" };

/** Values for mandatory options; all others get `text`. */
const MANDATORY: Readonly<Record<string, string>> = {
	...{ "--from": "staging", "--to": "prod" },
	...{ "--repository-id": "2002", "--repository-owner-id": "1001", "--project-id": "22", "--claim": "sub=deploy" },
};

/** Options to pass to commands that have them. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
	"--realm": ["--realm", "shop"],
	"--yes": ["--yes"],
	"--password-stdin": ["--password-stdin"],
	"--code-stdin": ["--code-stdin"],
};

/** Further words that a command needs. A new command that ends with 2 here may need a line. */
const MORE: Readonly<Record<string, readonly string[]>> = {
	"keys rotate": ["--data"],
	promote: ["--all"],
	"machine trust add github": ["--branch", "main"],
	"machine trust add gitlab": ["--branch", "main"],
	init: ["ada@example.com"],
	login: ["ada@example.com"],
	register: ["ada@example.com"],
	reset: ["ada@example.com"],
	"sso set": ["--type", "oidc"],
};

/** Commands that need no login. */
const PUBLIC = ["init", "login", "register", "reset", "health", "status", "sso list"];

const STDIN = "a password for tests only\nanother password for tests\n";

let home: Awaited<ReturnType<typeof temporaryFolder>>;
let file: string;

before(async () => {
	home = await temporaryFolder();
	file = join(home.path, "file.env");
	await writeFile(file, "KEY=value\n");
});
after(() => home[Symbol.asyncDispose]());

/** A call of the command that its own usage accepts. */
function callOf({ words, command }: Leaf): string[] {
	const options = command.options.flatMap(({ long, mandatory }) =>
		mandatory ? [long ?? "", MANDATORY[long ?? ""] ?? "text"] : (OPTIONS[long ?? ""] ?? []),
	);
	const needed = command.registeredArguments.filter(({ required }) => required);
	const given = needed.map((argument) => (argument.name() === "file" ? file : (ARGUMENTS[argument.name()] ?? "shop")));
	return [...words, ...options, ...(MORE[words.join(" ")] ?? []), ...given];
}

/** Exit code of a command for this failure: one that runs a program leaves the small numbers to it. */
const codeOf = ({ words }: Leaf, code: number) => (RUNS_PROGRAM.has(words.join(" ")) ? EXIT.notRun : code);

async function run(argv: readonly string[], env: Record<string, string>): Promise<Outcome> {
	const { io, outcome } = fakeIo({ env, stdin: STDIN, cwd: home.path });
	return outcome(await runCli(argv, io, LOCAL_COMMANDS));
}

/** A session at the address, with another certificate saved than the server's. */
async function loggedIn(address: string): Promise<Record<string, string>> {
	const env = { HOME: join(home.path, new URL(address).port) };
	const trust = { kind: "pinned", certificate: identityOf("second").cert } as const;
	await saveServer(fakeIo({ env }).io, address, { token: "session-token", trust });
	return env;
}

/** Fails unless the command printed one sentence, perhaps with a hint, and nothing else. */
function saidOneSentence({ code, stdout, stderr }: Outcome, expected: number): void {
	assert.equal(code, expected, stderr);
	assert.equal(stdout, "");
	assert.match(stderr, /^svc: [^\n]+\n(?:hint: [^\n]+\n)?$/);
}

for (const leaf of leaves) {
	const { words, command } = leaf;
	test(`svc ${nameOf(leaf)} --help shows how it is used, with examples`, async () => {
		const { code, stdout, stderr } = await run([...words, "--help"], {});
		assert.deepEqual([code, stderr], [0, ""]);
		assert.match(stdout, /^Usage: svc /);
		assert.match(stdout, new RegExp(`\nExamples:\n(?: {2}.*\n)*? {2}.*svc ${words[0]}`));
		assert.equal((await run(["help", ...words], {})).stdout, stdout);
	});

	test(`svc ${nameOf(leaf)} refuses an unknown option and a wrong number of words`, async () => {
		const call = callOf(leaf);
		const usage = codeOf(leaf, EXIT.usage);
		saidOneSentence(await run([...words, "--no-such-option", ...call.slice(words.length)], {}), usage);
		const { registeredArguments } = command;
		const optional = registeredArguments.filter(({ required }) => !required).map(() => "word");
		if (!registeredArguments.some(({ variadic }) => variadic))
			saidOneSentence(await run([...call, ...optional, "one-more"], {}), usage);
		if (registeredArguments.some(({ required }) => required)) saidOneSentence(await run(words, {}), usage);
	});
}

describe("without a server", () => {
	for (const leaf of asking) {
		test(`svc ${nameOf(leaf)} says that there is none`, async () => {
			const outcome = await run(callOf(leaf), await loggedIn(`https://127.0.0.1:${await freePort()}`));
			saidOneSentence(outcome, codeOf(leaf, 5));
			assert.match(outcome.stderr, /\blistens there\n|\blogged out here\b/);
		});
	}
});

describe("with a server that refuses", () => {
	let server: FakeServer;
	let answer: ReturnType<typeof refusal>;
	before(async () => {
		server = await startFake(() => answer, { plain: true });
	});
	after(() => server[Symbol.asyncDispose]());

	const REFUSALS: readonly (readonly [what: string, answer: typeof answer, code: number, said: RegExp])[] = [
		["is full", refusal(503, "unhealthy", "the disk is full"), 5, /\bdisk is full\nhint: .*svc health/],
		["is no svc server", { body: "<html>" }, 5, /no svc server/],
		["knows no such thing", refusal(404, "not_found", "not found"), 4, /not found/],
		["allows it to others only", refusal(403, "forbidden", "your role is viewer"), 3, /\bviewer\b/],
	];
	for (const leaf of asking) {
		for (const [what, refused, code, said] of REFUSALS) {
			test(`svc ${nameOf(leaf)}, when the server ${what}, ends with ${code}`, async () => {
				answer = refused;
				const outcome = await run(callOf(leaf), await loggedIn(server.address));
				if (nameOf(leaf) === "logout") return saidOneSentence(outcome, 5);
				saidOneSentence(outcome, codeOf(leaf, code));
				// It accepts an answer of any status.
				if (!["health", "status"].includes(nameOf(leaf))) assert.match(outcome.stderr, said);
			});
		}
	}

	for (const leaf of asking.filter((one) => ![...PUBLIC, "logout"].includes(nameOf(one)))) {
		test(`svc ${nameOf(leaf)} leads to svc login when the session has ended, and when there is none`, async () => {
			answer = refusal(401, "unauthorized", "token is missing or not valid");
			for (const env of [await loggedIn(server.address), { SVC_ADDRESS: server.address, HOME: "/nonexistent" }]) {
				const outcome = await run(callOf(leaf), env);
				saidOneSentence(outcome, codeOf(leaf, 3));
				assert.match(outcome.stderr, /hint: .*`svc login`/);
			}
		});
	}
});

describe("with a certificate that is not the trusted one", () => {
	let server: FakeServer;
	before(async () => {
		server = await startFake(() => ({ body: {} }));
	});
	after(() => server[Symbol.asyncDispose]());

	for (const leaf of asking) {
		test(`svc ${nameOf(leaf)} says so and sends nothing`, async () => {
			const outcome = await run(callOf(leaf), await loggedIn(server.address));
			saidOneSentence(outcome, codeOf(leaf, 5));
			assert.match(outcome.stderr, /(?:[0-9A-F]{2}:){31}.*(?:[0-9A-F]{2}:){31}/);
			assert.deepEqual(server.requests, []);
		});
	}
});
