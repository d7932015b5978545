import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { Failure } from "../../failure.ts";
import { assertProblems } from "../../testing/problems.ts";
import { checkResult, describeProblem, type ImportResult, type Skipped } from "./import-result.ts";
import { type FileOptions, readSecretsFile } from "./sources.ts";

const fixture = (name: string) => readFile(new URL(`../../fixtures/exports/${name}`, import.meta.url));

/** Reads a text as `svc import -` does. */
async function read(text: string | Buffer, options: FileOptions, under?: string): Promise<ImportResult> {
	const result = await readSecretsFile("-", Buffer.from(text), options);
	return checkResult(result, { skipEmpty: false, under });
}

const placesOf = (skipped: readonly Skipped[]) => skipped.map(({ line, key }) => `line ${line}, ${key}`);

/** Keys and values, after a check that nothing is wrong. */
function valuesOf({ entries, problems }: ImportResult): Record<string, string> {
	assert.deepEqual(problems, []);
	return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
}

const DB_URL = "postgres://shop:hunter2@db.internal/shop";
const PEM = "-----BEGIN KEY-----\nabc=\n-----END KEY-----\n";
const API_KEY = "1234567890";

const EXPORTS: readonly (readonly [file: string, from: string, values: object, skipped: readonly string[]])[] = [
	[
		"vault-v1.json",
		"vault",
		{ DB_URL: "postgres://shop@db.internal/shop", PORT: "8080", data: "a key of version 1" },
		[],
	],
	["vault-v2.json", "vault", { DB_URL, PORT: "8080", RATIO: "1.50", DEBUG: "false" }, []],
	["vault-deleted.json", "vault", {}, [""]],
	[
		"vault-tree.yaml",
		"vault",
		{
			"shop/API_KEY": API_KEY,
			"shop/db/PASSWORD": "hunter2",
			"shop/db/PORT": "5432",
			"shop/mail/SMTP_URL": "smtps://mail.internal",
			"other/TOKEN": "not of the shop",
		},
		[],
	],
	["infisical.json", "infisical", { API_KEY, DB_URL, "mail/SMTP_URL": "smtps://mail.internal", TLS_KEY: PEM }, []],
	["infisical.csv", "infisical", { API_KEY, GREETING: 'say "hi", then go', TLS_KEY: PEM }, []],
	["infisical.env", "infisical", { API_KEY, GREETING: 'it\'s "fine" \\n $HOME', TLS_KEY: PEM }, []],
	[
		"doppler.json",
		"doppler",
		{ API_KEY, DB_URL, PORT: "8080" },
		["DOPPLER_CONFIG", "DOPPLER_ENVIRONMENT", "DOPPLER_PROJECT"],
	],
	[
		"doppler.env",
		"doppler",
		{ API_KEY, PATTERN: 'a "b" C:\\d $HOME', TLS_KEY: PEM.trim() },
		["DOPPLER_CONFIG", "DOPPLER_ENVIRONMENT", "DOPPLER_PROJECT"],
	],
	["doppler.yaml", "doppler", { API_KEY, PORT: "8080" }, ["DOPPLER_CONFIG", "DOPPLER_ENVIRONMENT", "DOPPLER_PROJECT"]],
];

for (const [file, from, values, skipped] of EXPORTS) {
	test(`${file} is read from standard input as what ${from} exported`, async () => {
		const result = await read(await fixture(file), { from });
		assert.deepEqual(valuesOf(result), values);
		assert.deepEqual(
			result.skipped.map(({ key }) => key),
			skipped,
		);
	});
}

const VERSION = { created_time: "2026-03-01T10:00:00Z", deletion_time: "", destroyed: false, version: 1 };

test("a tree of answers of Vault is read by path, and of deleted and destroyed secrets only their paths", async () => {
	const answer = (data: unknown, more: object = {}) => ({
		lease_duration: 0,
		data: { data, metadata: { ...VERSION, ...more } },
	});
	const tree = {
		"shop/db": answer({ PASSWORD: "hunter2" }, { deletion_time: "2099-01-01T00:00:00Z" }),
		"shop/mail/": { data: { URL: "x" }, metadata: VERSION },
		"/shop/old": answer(null, { deletion_time: "2026-04-01T10:00:00Z" }),
		"shop/gone": answer(null, { destroyed: true }),
		v1: { lease_duration: 2764800, data: { A: "1" } },
	};
	const result = await read(JSON.stringify(tree), { from: "vault" });
	assert.deepEqual(valuesOf(result), { "shop/db/PASSWORD": "hunter2", "shop/mail/URL": "x", "v1/A": "1" });
	assert.deepEqual(
		result.skipped.map(({ key, reason }) => `${key} ${/deleted|destroyed/.exec(reason)}`),
		["shop/old deleted", "shop/gone destroyed"],
	);
});

test("a secret of version 1 may have keys named data and metadata", async () => {
	const answer = { lease_duration: 2764800, data: { data: "a", metadata: "b" } };
	assert.deepEqual(valuesOf(await read(JSON.stringify(answer), { from: "vault" })), { data: "a", metadata: "b" });
});

test("where Infisical has a personal and a shared value, the shared one is read", async () => {
	const text = '[{"key":"A","value":"mine","type":"personal"},\n{"key":"A","value":"ours","type":"shared"}]';
	const result = await read(text, { from: "infisical" });
	assert.deepEqual(valuesOf(result), { A: "ours" });
	assert.deepEqual(placesOf(result.skipped), ["line 1, A"]);
});

test("--under takes one folder of a tree, and the keys leave the folder out", async () => {
	for (const under of ["shop", "/shop/"]) {
		const result = await read(await fixture("vault-tree.yaml"), { from: "vault" }, under);
		const values = { API_KEY, "db/PASSWORD": "hunter2", "db/PORT": "5432", "mail/SMTP_URL": "smtps://mail.internal" };
		assert.deepEqual(valuesOf(result), values);
		assert.deepEqual(placesOf(result.skipped), ["line 10, other/TOKEN"]);
		assert.match(result.skipped[0]?.reason ?? "", /--under\b/);
	}
});

test("the objects of doppler secrets --json are read by their computed values", async () => {
	const text = '{"A":{"computed":"a b","raw":"a $B"},"B":{"computed":null,"raw":null}}';
	const result = await read(text, { from: "doppler" });
	assert.deepEqual(result.entries, [{ key: "A", value: "a b", line: 1 }]);
	assertProblems(result.problems.map(describeProblem), ["line 1, B: null"]);
});

const MISTAKES: readonly (readonly [from: string, text: string, ...problems: string[]])[] = [
	["vault", '{"a":{"b":["hunter2"],\n"c":null}}', "line 1, a/b: list", "line 2, a/c: null"],
	["vault", '{"lease_duration":0,"data":{"A":{"hunter2":"x"}}}', "line 1, A: object"],
	["vault", '["hunter2"]', "line 1: vault kv get"],
	["infisical", '[{"key":"A","value":"hunter2","type":"personal"}]', "line 1, A: --secret-overriding=false"],
	["infisical", '[{"value":"hunter2"},\n"hunter2"]', "line 1: key and value", "line 2: key and value"],
	["infisical", '[{"key":"A"}]', "line 1, A: null"],
	["infisical", "A='x'\nB=hunter2\n", "line 1: infisical export"],
	["infisical", "A='hunter2\n", "line 1: infisical export"],
	["doppler", '["hunter2"]', "line 1: doppler secrets download"],
	["csv", "A,hunter2\n", "line 1: columns"],
	["csv", 'key,value\nA,"1\n2"\nB,2,hunter2\n\nA,x\n', "line 4: 3 cells", "line 6, A: line 2"],
	["csv", 'key,value\nA,"hunter2\n', "line 2: quote"],
	["csv", 'key,value\nA,"x"hunter2\n', "line 2: quote"],
];

for (const [from, text, ...problems] of MISTAKES) {
	test(`${JSON.stringify(text)} of ${from} is refused with lines, keys and no value`, async () => {
		const found = (await read(text, { from })).problems.map(describeProblem);
		assertProblems(found, problems);
		assert.doesNotMatch(found.join(), /hunter2/);
	});
}

test("CSV is read as RFC 4180 has it, with further columns and CRLF, in any order of its columns", async () => {
	const text = 'Value,Comment,NAME\r\n"a ""b"", c",x,A\r\n,y,B\r\n"",z,C\r\n"1\r\n2",,D\r\nlast,,E';
	const result = await readSecretsFile("-", Buffer.from(text), { from: "csv" });
	assert.deepEqual(
		result.entries.map(({ key, value, line }) => [key, value, line]),
		[
			["A", 'a "b", c', 2],
			["B", "", 3],
			["C", "", 4],
			["D", "1\r\n2", 5],
			["E", "last", 7],
		],
	);
	const long = '""'.repeat(100_000);
	assert.deepEqual(valuesOf(await read(`key,value\nA,"${long}"`, { from: "csv" })), { A: '"'.repeat(100_000) });
});

test("a file is what --format says, else its name, else for a tool its beginning, else a .env file", async () => {
	const shop = async (file: string, text: string, options: FileOptions) =>
		valuesOf(checkResult(await readSecretsFile(file, Buffer.from(text), options), { skipEmpty: false }));
	assert.deepEqual(await shop("a.JSON", '{"A":"1"}', {}), { A: "1" });
	assert.deepEqual(await shop("a.csv", "key,value\nA,1", {}), { A: "1" });
	assert.deepEqual(await shop("a.json", "A=1", { from: "dotenv" }), { A: "1" });
	assert.deepEqual(await shop("a.json", "A=1", { from: "doppler", format: "dotenv" }), { A: "1" });
	assert.deepEqual(await shop("-", "A: '1'", { from: "doppler" }), { A: "1" });
	assert.deepEqual(await shop("-", "A=b: c", { from: "doppler" }), { A: "b: c" });
	assert.deepEqual(await shop("-", "\ufeffA=1", {}), { A: "1" });
	await assert.rejects(shop("/x/.envrc", "A=1", {}), (error: Failure) => {
		return error instanceof Failure && /direnv export json/.test(error.hint ?? "");
	});
});

test("a file of another format than .env is named as such, in one sentence", async () => {
	const files = { '{"A":"hunter2",}': "json", '{\n\t"A": "hunter2"\n}': "json", "A: hunter2\nB: x\n": "yaml" };
	for (const [text, format] of Object.entries({ ...files, "key,value\nA,hunter2\n": "csv" })) {
		const { problems, remarks } = await read(text, {});
		assertProblems(problems.map(describeProblem), [`line 1: --from ${format}`]);
		assert.deepEqual(remarks, []);
	}
	assert.deepEqual(valuesOf(await read('{"A":"hunter2",}', { from: "json" })), { A: "hunter2" });
});

test("an empty file is refused, and a pipe that brought nothing is suspected", async () => {
	for (const options of [{}, { from: "json" }, { from: "vault" }])
		await assert.rejects(read("\n", options), (error: Failure) => /\bpipe\b/.test(error.hint ?? ""));
});

test("an export of Doppler that is not named as one is recognized by its names", async () => {
	const { entries, remarks } = await read(await fixture("doppler.json"), { from: "json" });
	assert.equal(entries.length, 6);
	assert.match(remarks.join("\n"), /^.*--from doppler\b.*\b3\b.*$/);
	assert.deepEqual((await read('{"DOPPLER_CONFIG":"mine"}', { from: "json" })).remarks, []);
});
