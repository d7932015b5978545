import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";
import { DotenvError } from "./dotenv.ts";
import { EXPORT_FORMATS } from "./export-formats.ts";
import { parseMapping } from "./mapping.ts";

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
			(await parseMapping(text)).map(({ key, value }) => ({ key, value })),
			SECRETS,
		);
	});
}

test("YAML as people write it is read, with the lines of its keys", async () => {
	const text = '# of the shop\nURL: https://a.example\nKEY: |\n  one\n  two\nNOTE: "a: b"\n';
	assert.deepEqual(await parseMapping(text), [
		{ key: "URL", value: "https://a.example", line: 2 },
		{ key: "KEY", value: "one\ntwo\n", line: 3 },
		{ key: "NOTE", value: "a: b", line: 6 },
	]);
	const secret = "kind: Secret\ndata:\n  A: YQ==\nstringData:\n  B: b\n";
	assert.deepEqual(
		(await parseMapping(secret)).map(({ key, value }) => [key, value]),
		[
			["A", "a"],
			["B", "b"],
		],
	);
	const wrapped = "kind: Secret\ndata:\n  A: |\n    aHVu\n    dGVyMg==\n";
	assert.equal((await parseMapping(wrapped))[0]?.value, "hunter2");
});

const REFUSED: readonly (readonly [text: string, message: string])[] = [
	["A: hunter2\nB: 5432\n", "line 2: the value is not a text: numbers and the like need quotes"],
	['{"A": {"hunter2": "x"}}', "line 1: the value is not a text: numbers and the like need quotes"],
	["A: &hunter2 x\nB: *hunter2\n", "line 2: the value is not a text: numbers and the like need quotes"],
	["A: hunter2\nA: x\n", "line 2: a key occurs twice"],
	["1: hunter2\n", "line 1: a key is not a text"],
	['A: "hunter2\n', "line 2: is not JSON or YAML"],
	[
		"kind: Secret\ndata:\n  A: YQ==\n  B: //79\n",
		"line 4: the value is not UTF-8 text, and the service keeps nothing else",
	],
	["kind: Secret\ndata:\n  A: gA==\n", "line 3: the value is not UTF-8 text, and the service keeps nothing else"],
	["kind: Secret\ndata:\n  A: hunter2!\n", "line 3: the value is not Base64, as it is below data"],
	["kind: Secret\ndata:\n  A: YQ\n", "line 3: the value is not Base64, as it is below data"],
	["- hunter2\n", "line 1: expected a mapping of keys to texts"],
	["", "line 1: expected a mapping of keys to texts"],
];

for (const [text, message] of REFUSED) {
	test(`${JSON.stringify(text)} is refused with its line and nothing of its content`, async () => {
		await assert.rejects(parseMapping(text), (error) => {
			assert.ok(error instanceof DotenvError);
			assert.doesNotMatch(error.message, /hunter2/);
			assert.equal(error.message, message);
			return true;
		});
	});
}

test("a file is read as what its name or --format says", async () => {
	await using server = await startService(({ method }) =>
		method === "GET" ? page("secrets", []) : { status: 201, body: {} },
	);
	await using folder = await temporaryFolder();
	const [yaml, plain] = [join(folder.path, "secrets.yml"), join(folder.path, "secrets")];
	for (const file of [yaml, plain]) await writeFile(file, "URL: https://a.example\n");
	const read = (...args: string[]) => run(["import", ...args, "--realm", "shop"], { env: server.env });
	assert.equal((await read(yaml)).code, 0);
	assert.equal((await read(plain, "--format", "yaml")).code, 0);
	assert.equal((await read(plain)).code, 1);
	assert.deepEqual(
		server.requests.filter(({ method }) => method === "POST").map(({ body }) => body),
		Array(2).fill({ key: "URL", value: "https://a.example", environment: "dev" }),
	);
});
