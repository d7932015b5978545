import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { startVault } from "../../testing/fake-vault.ts";
import { assertProblems } from "../../testing/problems.ts";
import { run, temporaryFolder } from "../../testing/terminal.ts";
import { EXPORT_FORMATS } from "../export-formats.ts";
import { checkResult, describeProblem } from "./import-result.ts";
import { readSecretsFile } from "./sources.ts";

/** Reads a file as `svc import --format yaml` does. */
async function read(text: string) {
	return checkResult(await readSecretsFile("-", Buffer.from(text), { format: "yaml" }), { skipEmpty: false });
}

const SECRETS = [
	{ key: "URL", value: "https://a.example/?b=c" },
	{ key: "tls.key", value: "-----BEGIN KEY-----\nhunter2\n\0\u2028é\u{1f511}" },
	{ key: "yes", value: "012" },
];

for (const name of ["json", "yaml", "k8s"]) {
	test(`what svc export writes as ${name} is read as what was written`, async () => {
		const format = EXPORT_FORMATS[name];
		assert.ok(format);
		const text = format.write(SECRETS, { name: "shop" });
		assert.deepEqual(
			(await read(text)).entries.map(({ key, value }) => ({ key, value })),
			SECRETS,
		);
	});
}

test("YAML as people write it is read, with the lines of its keys", async () => {
	const text = '# of the shop\nURL: https://a.example\nKEY: |\n  one\n  two\nNOTE: "a: b"\n';
	assert.deepEqual((await read(text)).entries, [
		{ key: "URL", value: "https://a.example", line: 2 },
		{ key: "KEY", value: "one\ntwo\n", line: 3 },
		{ key: "NOTE", value: "a: b", line: 6 },
	]);
	const secret = "kind: Secret\ndata:\n  A: YQ==\nstringData:\n  B: b\n";
	assert.deepEqual(
		(await read(secret)).entries.map(({ key, value }) => [key, value]),
		[
			["A", "a"],
			["B", "b"],
		],
	);
	const wrapped = "kind: Secret\ndata:\n  A: |\n    aHVu\n    dGVyMg==\n";
	assert.equal((await read(wrapped)).entries[0]?.value, "hunter2");
});

test("numbers, true and false are the text as it is written", async () => {
	const text = "A: 007\nB: 1.50\nC: 9007199254740993\nD: 0x1F\nE: True\nF: yes\nG: 1e3\nH: -0\n";
	const values = ["007", "1.50", "9007199254740993", "0x1F", "True", "yes", "1e3", "-0"];
	assert.deepEqual(
		(await read(text)).entries.map(({ value }) => value),
		values,
	);
	const json = '{"A": 1.50, "B": 9007199254740993, "C": true, "D": 1E400}';
	assert.deepEqual(
		(await read(json)).entries.map(({ value }) => value),
		["1.50", "9007199254740993", "true", "1E400"],
	);
});

test("where data and stringData have the same key, that of stringData is read, and the other is named as skipped", async () => {
	const { entries, skipped } = await read("kind: Secret\ndata:\n  A: YQ==\n  B: Yg==\nstringData:\n  A: new\n");
	assert.deepEqual(entries, [
		{ key: "B", value: "b", line: 4 },
		{ key: "A", value: "new", line: 6 },
	]);
	assert.deepEqual(skipped, [
		{ key: "A", line: 3, reason: "stands in stringData, too, on line 6, which Kubernetes takes" },
	]);
});

test("a list of Secrets is read whole, and a key in two of them is a mistake", async () => {
	const list = (key: string) =>
		`kind: List\nitems:\n- kind: Secret\n  stringData:\n    A: a\n- kind: Secret\n  stringData:\n    ${key}: b\n`;
	assert.deepEqual(
		(await read(list("B"))).entries.map(({ key }) => key),
		["A", "B"],
	);
	assertProblems((await read(list("A"))).problems.map(describeProblem), ["line 8, A: line 5"]);
});

const REFUSED: readonly (readonly [text: string, ...problems: string[]])[] = [
	['{"A": {"hunter2": "x"}}', "line 1, A: object"],
	["A: &hunter2 x\nB: *hunter2\n", "line 2, B: alias"],
	["A: !!binary hunter2\n", "line 1, A: alias"],
	["A: hunter2\nA: x\n", "line 2, A: line 1"],
	["A: ~\nB: [hunter2]\nC:\n", "line 1, A: null", "line 2, B: list", "line 3, C: null"],
	["1: hunter2\n", "line 1: key"],
	['A: "hunter2\n', "line 2: JSON"],
	["A: hunter2\n---\nB: x\n", "line 2: second document"],
	["kind: Secret\ndata:\n  A: YQ==\n  B: //79\n", "line 4, B: stringData"],
	["kind: Secret\ndata:\n  A: gA==\n", "line 3, A: stringData"],
	["kind: Secret\ndata:\n  A: hunter2!\n", "line 3, A: Base64"],
	["kind: Secret\ndata:\n  A: YQ\n", "line 3, A: Base64"],
	["- hunter2\n", "line 1: mapping"],
	["a b: x\nC/../D: x\n", "line 1, a b: key", "line 2, C/../D: key"],
	['{"A": "\\ud800hunter2"}', "line 1, A: surrogate"],
];

for (const [text, ...problems] of REFUSED) {
	test(`${JSON.stringify(text)} is refused with its lines, its keys and no value`, async () => {
		const found = (await read(text)).problems.map(describeProblem);
		assertProblems(found, problems);
		for (const message of found) assert.doesNotMatch(message, /hunter2/);
	});
}

test("values and keys that are too long for the server are found before anything is sent", async () => {
	const { problems } = await read(
		JSON.stringify({ A: "é".repeat(131_073), B: "x".repeat(262_144), ["K".repeat(256)]: "x" }),
	);
	const reasons = problems.map(({ problem }) => problem);
	assert.match(reasons.join("\n"), /^.*\b256 KiB\n.*\b255 characters$/);
});

test("a file is read as what its name or --format says", async () => {
	await using server = await startVault();
	await using folder = await temporaryFolder();
	const [yaml, plain] = [join(folder.path, "secrets.yml"), join(folder.path, "secrets")];
	for (const file of [yaml, plain]) await writeFile(file, "URL: https://a.example\n");
	const read = (...args: string[]) => run(["import", ...args, "--realm", "shop"], { env: server.env });
	assert.equal((await read(yaml)).code, 0);
	assert.equal((await read(plain, "--format", "yaml")).code, 0);
	assert.equal((await read(plain)).code, 1);
	assert.deepEqual(server.written(), [{ key: "URL", value: "https://a.example", environment: "dev" }]);
	const both = await run(["import", plain, "--from", "json", "--format", "yaml", "--realm", "shop"], {
		env: server.env,
	});
	assert.deepEqual([both.code, /--from json\b.*--format yaml\b/.test(both.stderr)], [2, true]);
});
