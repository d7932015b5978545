import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { runCli } from "../main.ts";
import { startVault, type VaultOptions } from "../testing/fake-vault.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";

const EXISTING = [
	{ key: "SAME", value: "as before" },
	{ key: "OTHER", value: "before" },
	{ key: "KEPT", value: "only here" },
];
const PEM = "-----BEGIN KEY-----\nabc=\n-----END KEY-----\n";
const FILE = `SAME='as before'\nOTHER=after\nNEW='${PEM}'\n`;

/** A service with three secrets, for a user whose environment names the realm. */
async function startShop(options: VaultOptions = {}) {
	const server = await startVault({ existing: EXISTING, ...options });
	return Object.assign(server, { env: { ...server.env, SVC_REALM: "shop", SVC_ENV: "prod" } });
}

const PLAN = { realm: "shop", environment: "prod", add: ["NEW"], change: ["OTHER"], unchanged: ["SAME"], skipped: [] };

test("a dry run shows what would change, without values, and writes nothing", async () => {
	await using service = await startShop();
	const surroundings = { env: service.env, stdin: FILE };
	const shown = await run(["import", "-", "--dry-run"], surroundings);
	assert.equal(shown.stdout, "EFFECT     KEY    LINE\nunchanged  SAME   1\nchange     OTHER  2\nadd        NEW    3\n");
	assert.equal(shown.stderr, "1 to add, 1 to change, 1 unchanged; nothing was written\n");
	const { stdout } = await run(["import", "-", "--dry-run", "--json"], surroundings);
	assert.deepEqual(JSON.parse(stdout), { dry_run: true, ...PLAN });
	assert.deepEqual(service.written(), []);
});

test("only what differs is written, byte for byte", async () => {
	await using service = await startShop();
	const { code, stdout } = await run(["import", "-"], { env: service.env, stdin: FILE });
	assert.deepEqual([code, stdout], [0, "1 added, 1 changed, 1 unchanged in shop/prod\n"]);
	assert.deepEqual(service.written(), [
		{ key: "OTHER", value: "after", environment: "prod" },
		{ key: "NEW", value: PEM, environment: "prod" },
	]);
	await using other = await startShop();
	const json = await run(["import", "-", "--json"], { env: other.env, stdin: FILE });
	assert.deepEqual(JSON.parse(json.stdout), { ...PLAN, written: ["OTHER", "NEW"], not_written: [] });
});

test("it stops at the first failure and says what was written and what was not", async () => {
	await using service = await startShop({ refused: "NEW" });
	const stdin = `${FILE}LAST=x\n`;
	const { code, stderr } = await run(["import", "-"], { env: service.env, stdin });
	assert.equal(code, 1);
	assert.match(stderr, /^written: OTHER\nnot written: NEW LAST\nsvc: line 3, NEW: value must be at most/);
	const json = await run(["import", "-", "--json"], { env: service.env, stdin });
	assert.deepEqual(JSON.parse(json.stdout).not_written, ["NEW", "LAST"]);
	assert.equal(JSON.parse(json.stderr).error.code, "validation_failed");
	assert.ok(!service.written().some((body) => (body as { key: string }).key === "LAST"));
});

test("a key that a terminal would obey is spelled out", async () => {
	await using service = await startShop();
	const stdin = JSON.stringify({ "A\u001b[2J": "x", "B\u001b]0;": "x" });
	const { stderr } = await run(["import", "-", "--format", "json"], { env: service.env, stdin });
	assert.match(stderr, /^line 1, A\\u001b\[2J: a key has .*\nline 1, B\\u001b\]0;: .*\nsvc: .*\b2\b/);
	assert.deepEqual(service.requests, []);
});

test("all mistakes are shown together, by line and key, and programs get them in one message", async () => {
	await using service = await startShop();
	const stdin = "A=\nB hunter2\nC='hunter2'x\nD=1\nD=hunter2\nE='hunter2\nF=1\n";
	const { code, stderr } = await run(["import", "-"], { env: service.env, stdin });
	assert.equal(code, 1);
	const lines = [
		"line 1, A: the value is empty, and the server stores no empty values",
		"line 2: expected KEY=value, a comment or nothing",
		"line 3, C: only a comment may follow the closing quote",
		"line 5, D: the same key is already on line 4",
		"line 6, E: the quote that begins here is never closed",
	];
	const end = "svc: the file has 5 mistakes, and nothing was written\nhint: --skip-empty leaves such entries out\n";
	assert.equal(stderr, `${lines.join("\n")}\n${end}`);
	const json = await run(["import", "-", "--json"], { env: service.env, stdin });
	assert.equal(JSON.parse(json.stderr).error.message, lines.join("; "));
	assert.deepEqual(service.requests, []);
});

test("Ctrl-C ends between two writes, says how far it came, and the same command continues from there", async () => {
	let interrupt = () => {};
	await using service = await startShop({ onWrite: (key) => key === "B" && interrupt() });
	const surroundings = { env: service.env, stdin: "A=1\nB=2\nC=3\nD=4\n" };
	const { io, outcome, signal } = fakeIo(surroundings);
	interrupt = () => signal("SIGINT");
	const { code, stderr } = outcome(await runCli(["import", "-"], io));
	assert.equal(code, 130);
	assert.equal(
		stderr,
		"written: A B\nnot written: C D\nsvc: interrupted after 2 of 4\nhint: the same import continues from here\n",
	);
	const again = await run(["import", "-"], surroundings);
	assert.equal(again.stdout, "2 added, 0 changed, 2 unchanged in shop/prod\n");
	assert.deepEqual(
		service.written().map((body) => (body as { key: string }).key),
		["A", "B", "C", "D"],
	);
});

test("an import fails when the server then has something other than what was sent", async () => {
	await using service = await startShop({ keep: (value) => value.trim() });
	const { code, stdout, stderr } = await run(["import", "-"], { env: service.env, stdin: "A=1\nB=' 2'\n" });
	assert.deepEqual([code, stdout], [1, ""]);
	assert.match(stderr, /^svc: .*: B\nhint: .*svc secret history/);
});

test("what was skipped is named with its reason, and counted", async () => {
	await using service = await startShop();
	const surroundings = { env: service.env, stdin: '{"NEW":"1","DOPPLER_PROJECT":"shop"}' };
	const reason = "DOPPLER_PROJECT is the name of Doppler's project: --realm says where it goes here";
	const planned = await run(["import", "-", "--from", "doppler", "--dry-run"], surroundings);
	assert.equal(
		planned.stderr,
		`skipped: line 1, ${reason}\n1 to add, 0 to change, 0 unchanged, 1 skipped; nothing was written\n`,
	);
	const json = await run(["import", "-", "--from", "doppler", "--dry-run", "--json"], surroundings);
	const [skipped] = JSON.parse(json.stdout).skipped;
	assert.deepEqual([skipped.key, skipped.line], ["DOPPLER_PROJECT", 1]);
	const { stdout, stderr } = await run(["import", "-", "--from", "doppler"], surroundings);
	assert.deepEqual(
		[stdout, stderr],
		["1 added, 0 changed, 0 unchanged, 1 skipped in shop/prod\n", `skipped: line 1, ${reason}\n`],
	);
});

test("a secret that Vault has deleted is not imported as if there were none", async () => {
	await using service = await startShop();
	const stdin = readFileSync(new URL("../fixtures/exports/vault-deleted.json", import.meta.url));
	const { code, stderr } = await run(["import", "-", "--from", "vault"], { env: service.env, stdin });
	assert.equal(code, 1);
	assert.match(stderr, /^skipped: line 1 .*\nsvc: /);
	assert.deepEqual(service.requests, []);
});

const REFUSED: readonly (readonly [file: string | Uint8Array, message: RegExp])[] = [
	["A=1\nB=\n", /line 2, B: the value is empty.*\nhint: --skip-empty/],
	["A=1\nB hunter2\n", /line 2: expected KEY=value/],
	["A=hunter2\nA=hunter2\n", /line 2, A: the same key is already on line 1/],
	[Buffer.from("A=1\nB=hunter2\xff\n", "latin1"), /line 2: .*\nhint: `base64 --wrap=0 FILE | svc secret set KEY`/],
];

test("an object or a list is refused by line and key, with what to do about it", async () => {
	await using service = await startShop();
	const stdin = '{"A": "1",\n"DB": {"HOST": "hunter2"},\n"L": ["hunter2"]}';
	const { code, stderr } = await run(["import", "-", "--from", "json"], { env: service.env, stdin });
	assert.equal(code, 1);
	assert.equal(
		stderr,
		"line 2, DB: the value is an object, not a text\nline 3, L: the value is a list, not a text\n" +
			"svc: the file has 2 mistakes, and nothing was written\nhint: a secret is one text: give each value below an object or list a key of its own, such as DB_HOST, or put the whole into quotes\n",
	);
	assert.deepEqual(service.requests, []);
});

for (const [file, message] of REFUSED) {
	test(`a file that is refused with ${message} is refused before anything is sent`, async () => {
		await using service = await startShop();
		const { code, stderr } = await run(["import", "-"], { env: service.env, stdin: file });
		assert.equal(code, 1);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2/);
		assert.deepEqual(service.requests, []);
	});
}

test("--skip-empty leaves entries without a value out", async () => {
	await using service = await startShop();
	assert.equal((await run(["import", "-", "--skip-empty"], { env: service.env, stdin: "A=\nB=1\n" })).code, 0);
	assert.deepEqual(service.written(), [{ key: "B", value: "1", environment: "prod" }]);
});

test("a terminal sees the progress, nothing else does", async () => {
	await using service = await startShop();
	await using folder = await temporaryFolder();
	const file = join(folder.path, ".env");
	await writeFile(file, FILE);
	const { stderr } = await run(["import", file], { env: service.env, typed: [] });
	const lines = stderr.split("\r\u001b[K").filter((line) => line !== "");
	assert.deepEqual(lines, ["reading what is there", "writing secrets", "comparing"]);
	assert.ok(stderr.endsWith("\r\u001b[K"), stderr);
	await using other = await startShop();
	assert.equal((await run(["import", file], { env: other.env })).stderr, "");
});

test("lines that programs read differently are listed, and --dialect reads the file as one of them does", async () => {
	await using service = await startShop();
	const surroundings = { env: service.env, stdin: "A=1\nB=a#b\nC=hunter2$x\n" };
	const { stderr } = await run(["import", "-", "--dry-run"], surroundings);
	const lines = stderr.split("\n");
	assert.deepEqual(lines.slice(0, 3), [
		"1 line is read differently by node: 2 (--dialect node reads the file as it does)",
		"1 line is read differently by compose: 3 (--dialect compose reads the file as it does)",
		"1 line is read differently by shell: 3 (--dialect shell reads the file as it does)",
	]);
	assert.doesNotMatch(stderr, /hunter2/);
	assert.equal((await run(["import", "-", "--dialect", "node"], surroundings)).stderr, "");
	const values = service.written().map((body) => (body as { value: string }).value);
	assert.deepEqual(values, ["1", "a", "hunter2$x"]);
	const refused = await run(["import", "-", "--dialect", "compose"], surroundings);
	assert.match(refused.stderr, /^svc: line 3, C: .*\bcompose\b/);
	assert.equal((await run(["import", "-", "--dialect", "node", "--from", "json"], surroundings)).code, 2);
});

test("a file with a mistake names the dialects in which it has none", async () => {
	await using service = await startShop();
	const { code, stderr } = await run(["import", "-"], { env: service.env, stdin: "A='it'\\''s'\n" });
	assert.equal(code, 1);
	assert.match(stderr, /^--dialect node or docker or shell or systemd .*\nsvc: line 1, A: /);
});
