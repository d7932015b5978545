import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Result, testEngine } from "./conformance.ts";

const ENGINE = fileURLToPath(new URL("./broken-engine.ts", import.meta.url));

const DESCRIPTOR = {
	name: "sample",
	version: "0.1.0",
	display_name: "Sample",
	description: "An engine for tests",
	sdk_version: 1,
	min_core_version: "0.1.0",
	capabilities: ["engine:secret_generation", "engine:secret_validation"],
	tier: "community",
	config_schema: { type: "object", properties: {} },
	default_roles: [],
};

const scratch = mkdtempSync(join(tmpdir(), "svc-test-engine-"));
after(() => rmSync(scratch, { recursive: true }));

/** Longer than a start takes on a busy machine. */
const PATIENCE_MS = 30_000;

/** Tries one case on an engine with one flaw. The wait is short: some engines stay silent. */
const tryFlaw = (flaw: string, only: string) =>
	testEngine({
		command: [process.execPath, ENGINE, flaw],
		descriptor: DESCRIPTOR,
		timeout_ms: 3000,
		only: [only],
	});

/** The problems, by case. */
function problems(results: readonly Result[]): Record<string, string> {
	return Object.fromEntries(results.flatMap((result) => (result.passed ? [] : [[result.name, result.problem]])));
}

test("an engine that keeps the contract passes every case, and each is reported as soon as it is known", async () => {
	const reported: Result[] = [];
	const options = { command: [process.execPath, ENGINE], descriptor: DESCRIPTOR, timeout_ms: PATIENCE_MS };
	const results = await testEngine({ ...options, onResult: (result) => reported.push(result) });
	assert.deepEqual(problems(results), {});
	assert.ok(results.length > 15);
	assert.deepEqual(reported, results);
	assert.equal(new Set(results.map(({ name }) => name)).size, results.length);
});

test("an engine that ends after each answer passes every case", async () => {
	const command = [process.execPath, ENGINE, "one shot"];
	assert.deepEqual(problems(await testEngine({ command, descriptor: DESCRIPTOR, timeout_ms: PATIENCE_MS })), {});
});

const DESCRIBE = "describe answers in time and agrees with plugin.json";
const ONE_LINE = "each request is answered with one line, and nothing else is written to standard output";
const NO_JSON = "a line that is no JSON is answered with an error";
const LAST = "a request is answered also when the input ends right after it";
const MADE = "generate without params is answered, and so is validate with what it made";

/** The finding for each flaw: its case, and its problem. */
const FLAWS: [flaw: string, name: string, problem: RegExp][] = [
	["a greeting", DESCRIBE, /\bno response: .*\bJSON$/],
	["a pretty response", DESCRIBE, /\bno response: .*\bJSON$/],
	["no UTF-8", DESCRIBE, /\bno response: .*\bUTF-8$/],
	["data and error", DESCRIBE, /\bone member: data or error$/],
	["no line feed", DESCRIBE, /\bline feed$/],
	["silence", DESCRIBE, /\bno response within 3 s$/],
	["an early end", DESCRIBE, /\(exit code 3\)/],
	["another name", DESCRIBE, /\banother name\b/],
	["a capability too few", DESCRIBE, /\bleaves out a capability\b/],
	[
		"an error that is an object",
		"an unknown method is answered with an error",
		/\{data: an object\} or \{error: a string\}$/,
	],
	["two responses", ONE_LINE, /\bmore than one line\b/],
	["a log line", ONE_LINE, /\bmore than one line\b|\bno response\b/],
	["an empty line", ONE_LINE, /\bmore than one line\b|\bno response\b/],
	["half a line more", ONE_LINE, /\bafter the line\b/],
	["an endless line", ONE_LINE, /\bafter the line\b|\b1 MiB\b/],
	["one bad shot", ONE_LINE, /\(exit code 1\)/],
	["an ill ping", "ping answers that the engine is healthy, or with an error that says why it is not", /not healthy$/],
	["data for all", "an unknown method is answered with an error", /\bunknown method\b.*\bdata$/],
	["params of any kind", "params that are no object are answered with an error", /^generate\b.*\bdata$/],
	["no unknown params", "params that the engine does not know are ignored", /^describe\b.*\berror$/],
	["a prototype to change", "members named __proto__ or constructor do no harm", /^describe\b.*\bsomething else\b/],
	["an end at bad JSON", NO_JSON, /\(exit code 1\)/],
	["describe for bad JSON", NO_JSON, /\bno JSON object\b.*\bdata$/],
	["an end at generate", MADE, /\(exit code 7\)/],
	["a fall at nonsense", "validate is answered for what the engine never made", /\(exit code 1\)/],
	[
		"wrong privileges",
		"privileges answers what is needed at the target, or with an error",
		/\bname, status, message and hint\b/,
	],
	["a wrong list", "list answers the managed names, or with an error", /\bnames are no list\b/],
	["a chunk for a line", "a request that arrives in pieces is answered once it is whole", /\bthree pieces\b/],
	["a small buffer", "a request of 256 KiB is answered", /\(exit code 1\)/],
	["an echo", "an error has at most 8 KiB, whatever was sent", /\b8192 bytes$/],
	[
		"an error for the second describe",
		"many requests are answered one after the other, each with its own response",
		/\brequest 3\b/,
	],
	["slow last words", LAST, /\(exit code 0\)/],
	["a life of its own", "the end of the input ends the engine within 2 s", /\bstill runs 2 s\b/],
];
// Most of them wait: for a start, a deadline, or the end of a process.
describe("flaws", { concurrency: 4 }, () => {
	for (const [flaw, name, problem] of FLAWS) {
		test(`the flaw is named: ${flaw}`, async () => {
			const results = await tryFlaw(flaw, name);
			const found = results.find((result) => result.name === name);
			assert.ok(found?.passed === false, JSON.stringify(problems(results)));
			assert.match(found.problem, problem);
			assert.ok(found.remedy.length > 10);
		});
	}
});

/** An engine that ignores every param of generate, and appends to a file each name that it makes or revokes. */
const KEEPER = `
const { appendFileSync } = require("node:fs");
const name = () => String(process.hrtime.bigint());
const note = (what, name) => (appendFileSync(process.argv[1], what + " " + name + "\\n"), name);
const answers = {
	describe: () => ({ ...${JSON.stringify(DESCRIPTOR)}, capabilities: ["secret_generation", "secret_validation"] }),
	ping: () => ({ status: "healthy" }),
	generate: () => ({ name: note("made", name()) }),
	validate: ({ name }) => (note("revoked", name), { valid: true, message: "" }),
};
const parse = (line) => { try { return JSON.parse(line); } catch { return {}; } };
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
	const { method, params = {} } = parse(line);
	const isKnown = Object.hasOwn(answers, method) && typeof params === "object" && !Array.isArray(params);
	const response = isKnown ? { data: answers[method](params) } : { error: "invalid params" };
	process.stdout.write(JSON.stringify(response) + "\\n");
});`;

test("every credential that the cases make is revoked", async () => {
	const file = join(scratch, "names");
	const command = [process.execPath, "-e", KEEPER, file];
	assert.deepEqual(problems(await testEngine({ command, descriptor: DESCRIPTOR, timeout_ms: PATIENCE_MS })), {});
	const lines = readFileSync(file, "utf8").trimEnd().split("\n");
	const names = (what: string) => lines.filter((line) => line.startsWith(what)).map((line) => line.split(" ")[1]);
	assert.ok(names("made").length >= 4);
	const revoked = names("revoked");
	assert.deepEqual(
		names("made").filter((name) => !revoked.includes(name)),
		[],
	);
});

test("only the cases that are asked for are tried, after describe", async () => {
	const results = await tryFlaw("none", NO_JSON);
	assert.deepEqual(
		results.map(({ name, passed }) => [name, passed]),
		[
			[DESCRIBE, true],
			[NO_JSON, true],
		],
	);
});

test("where describe fails nothing else is tried", async () => {
	const results = await testEngine({ command: [process.execPath, ENGINE, "another name"], descriptor: DESCRIPTOR });
	assert.deepEqual(
		results.map(({ name, passed }) => [name, passed]),
		[[DESCRIBE, false]],
	);
});

test("a program that cannot be started is named with the system's reason", async () => {
	for (const [command, reason] of [
		[[join(scratch, "absent")], "ENOENT"],
		[[scratch], "EACCES"],
	] as const) {
		const [result] = await testEngine({ command, descriptor: DESCRIPTOR });
		assert.ok(result?.passed === false);
		assert.equal(result.problem, `the program could not be started (${reason})`);
	}
});

/** Makes a folder with these files. */
function folder(name: string, descriptor: unknown, executable?: { name: string; text: string; mode?: number }): string {
	const directory = mkdtempSync(join(scratch, `${name}-`));
	const text = typeof descriptor === "string" ? descriptor : JSON.stringify(descriptor);
	writeFileSync(join(directory, "plugin.json"), text);
	if (executable === undefined) return directory;
	writeFileSync(join(directory, executable.name), executable.text);
	chmodSync(join(directory, executable.name), executable.mode ?? 0o755);
	return directory;
}

const SCRIPT = `#!/bin/sh
while IFS= read -r line; do
	case $PWD,$0,$SVC_SAMPLE,$HOME,$line in
	*/empty,*/run.sh,given,,*describe*) echo '{"data":{"name":"sample","version":"0.1.0","display_name":"Sample","description":"","capabilities":["secret_generation","secret_validation"]}}' ;;
	*) echo '{"error":"no"}' ;;
	esac
done
`;

test("the executable of a folder runs as in the server: a copy, in an empty folder, with no variables but its own", async () => {
	const sha256 = createHash("sha256").update(SCRIPT).digest("hex");
	const directory = folder("copied", { ...DESCRIPTOR, executable: "run.sh", sha256 }, { name: "run.sh", text: SCRIPT });
	const results = await testEngine({ directory, env: { SVC_SAMPLE: "given", PATH: "/nowhere" } });
	assert.deepEqual([results[0]?.passed, results[1]?.passed], [true, true], JSON.stringify(results));
	const without = await testEngine({ directory });
	assert.deepEqual(problems(without), { [DESCRIBE]: "describe is answered with an error" });
});

test("a folder that cannot be used is named with what is wrong, and nothing is tried", async () => {
	const run = { name: "run.sh", text: SCRIPT };
	const named = { ...DESCRIPTOR, executable: "run.sh" };
	const linked = folder("linked", named);
	symlinkSync("/bin/sh", join(linked, "run.sh"));
	const table: [directory: string, problem: RegExp][] = [
		[join(scratch, "absent"), /\bno file plugin\.json\b/],
		[folder("no-json", "{,}"), /^plugin\.json .*\bJSON$/],
		[folder("twice", '{"name":"a","name":"b"}'), /^plugin\.json .*\btwice\b/],
		[folder("long", `"${"x".repeat(300_000)}"`), /^plugin\.json .*\b256 KiB$/],
		[folder("no-descriptor", { ...DESCRIPTOR, sdk_version: 2 }), /^plugin\.json: sdk_version /],
		[folder("no-program", DESCRIPTOR), /\bmain\.ts$/],
		[folder("absent-program", named), /\bexecutable\b.*\bno file\b/],
		[linked, /\bexecutable\b.*\bno file\b/],
		[folder("not-executable", named, { ...run, mode: 0o644 }), /\bmay not be executed$/],
		[folder("other-hash", { ...named, sha256: "0".repeat(64) }, run), /\bsha256\b/],
	];
	for (const [directory, problem] of table) {
		const results = await testEngine({ directory });
		assert.equal(results.length, 1);
		assert.match(Object.values(problems(results)).join(), problem);
	}
});

test("a folder whose plugin.json names no executable is run by its main.ts, where it is", async () => {
	const main = { name: "main.ts", text: `process.argv[2] = "none";\nawait import(${JSON.stringify(ENGINE)});\n` };
	const directory = folder("main", DESCRIPTOR, main);
	assert.deepEqual(problems(await testEngine({ directory, timeout_ms: PATIENCE_MS })), {});
});
