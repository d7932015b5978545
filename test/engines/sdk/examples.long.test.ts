/* The same small engine in several languages: each keeps the contract, and each accepts the others' vouchers. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testEngine } from "../../../packages/plugin-sdk/src/testing/conformance.ts";
import { goBuild } from "../../harness/go-build.ts";

const EXAMPLES = fileURLToPath(new URL("../../../packages/plugin-sdk/examples", import.meta.url));

/** Longer than a start takes on a busy machine. */
const PATIENCE_MS = 30_000;

/** The server's search path for programs. */
const PATH = "/usr/local/bin:/usr/bin:/bin";

const hasProgram = (name: string) => PATH.split(":").some((folder) => existsSync(`${folder}/${name}`));

const scratch = mkdtempSync(join(tmpdir(), "svc-examples-"));
after(() => rmSync(scratch, { recursive: true }));
copyFileSync(`${EXAMPLES}/go/plugin.json`, join(scratch, "plugin.json"));
const hasGo = goBuild(`${EXAMPLES}/go`, join(scratch, "voucher"));

const NODE = {
	command: [process.execPath, `${EXAMPLES}/node/voucher.mts`],
	descriptor: JSON.parse(readFileSync(`${EXAMPLES}/node/plugin.json`, "utf8")),
};

const LANGUAGES = [
	{
		name: "typescript",
		command: [process.execPath, `${EXAMPLES}/typescript/main.ts`],
		tested: { directory: `${EXAMPLES}/typescript` },
		skip: false,
	},
	// Uses this Node: the one on the server's path may be too old for TypeScript.
	{ name: "TypeScript without the SDK", command: NODE.command, tested: NODE, skip: false },
	{
		name: "go",
		command: [join(scratch, "voucher")],
		tested: { directory: scratch },
		skip: hasGo ? false : "go is not installed: see https://go.dev/dl",
	},
	{
		name: "python",
		command: [`${EXAMPLES}/python/voucher.py`],
		tested: { directory: `${EXAMPLES}/python` },
		skip: hasProgram("python3") ? false : `python3 is not on ${PATH}`,
	},
	{
		name: "sh",
		command: [`${EXAMPLES}/sh/voucher.sh`],
		tested: { directory: `${EXAMPLES}/sh` },
		skip: hasProgram("awk") ? false : `awk is not on ${PATH}`,
	},
] as const;

type Request = [method: string, params?: unknown];

/** Returns one process's responses to these lines. */
function send([program = "", ...args]: readonly string[], lines: readonly string[]) {
	const input = lines.map((line) => `${line}\n`).join("");
	const { stdout, status, stderr } = spawnSync(program, args, {
		input,
		env: { PATH },
		encoding: "utf8",
		timeout: 300_000,
	});
	assert.deepEqual([status, stderr], [0, ""]);
	const responses = stdout.trimEnd().split("\n");
	assert.equal(responses.length, lines.length);
	return responses.map((line) => JSON.parse(line));
}

const ask = (command: readonly string[], requests: readonly Request[]) =>
	send(
		command,
		requests.map(([method, params]) => JSON.stringify({ method, params })),
	);

for (const { name, tested, skip } of LANGUAGES) {
	test(`the example in ${name} keeps the contract`, { skip }, async () => {
		const results = await testEngine({ ...tested, timeout_ms: PATIENCE_MS });
		assert.deepEqual(
			results.filter(({ passed }) => !passed),
			[],
		);
		assert.ok(results.length > 15);
	});
}

test("a voucher of one example is valid in all, and with another digit in none", () => {
	const usable = LANGUAGES.filter(({ skip }) => skip === false);
	const vouchers = usable.flatMap(({ command }) =>
		ask(command, [["generate"], ["generate", { prefix: "ACME" }], ["generate", { prefix: null }]]).map(
			({ data }) => data.voucher,
		),
	);
	assert.equal(vouchers.length, 3 * usable.length);
	for (const voucher of vouchers) assert.match(voucher, /^(V|ACME)-\d{16}$/);
	const wrong = vouchers.map((voucher) => voucher.replace(/\d/, (digit: string) => String((Number(digit) + 1) % 10)));
	for (const { command } of usable) {
		const requests = [...vouchers, ...wrong].map((voucher): Request => ["validate", { voucher }]);
		assert.deepEqual(
			ask(command, requests).map(({ data }) => data.valid),
			[...vouchers.map(() => true), ...wrong.map(() => false)],
		);
	}
});

const VALID = { data: { valid: true, message: "the check digit is right" } };
const INVALID = { data: { valid: false, message: "not a voucher of ours" } };
const LETTERS = { error: "prefix must be 1 to 10 capital letters" };

/** A Luhn number from another source. */
const KNOWN = "SHOP-4111111111111111";

const TABLE: [request: Request, response: object][] = [
	[["validate", { voucher: KNOWN }], VALID],
	...[
		"",
		"V",
		"V-",
		KNOWN.toLowerCase(),
		` ${KNOWN}`,
		`${KNOWN}\n`,
		`${KNOWN}1`,
		"4111111111111111",
		"-4111111111111111",
	].map((voucher): [Request, object] => [["validate", { voucher }], INVALID]),
	...[
		"SHOP-411111111111111",
		"ELEVENCHARS-4111111111111111",
		"SHOP-41111111a1111111",
		"A-B-4111111111111111",
		"$(id)-1",
	].map((voucher): [Request, object] => [["validate", { voucher }], INVALID]),
	[["validate", { voucher: "SHOP-４111111111111111" }], INVALID],
	[["validate"], { error: "voucher is required" }],
	[["validate", { voucher: null }], { error: "voucher is required" }],
	[["validate", { voucher: 4111111111111111 }], { error: "invalid params: voucher must be a string" }],
	[["validate", { voucher: [KNOWN] }], { error: "invalid params: voucher must be a string" }],
	...["", "a", "A1", "ÄB", "A B", "ABCDEFGHIJK", "*", "`id`", "\\"].map((prefix): [Request, object] => [
		["generate", { prefix }],
		LETTERS,
	]),
	[["generate", { prefix: true }], { error: "invalid params: prefix must be a string" }],
	[["ping"], { data: { status: "healthy" } }],
];

for (const { name, command, skip } of LANGUAGES) {
	test(`the example in ${name} refuses what the others refuse`, { skip }, () => {
		const responses = ask(
			command,
			TABLE.map(([request]) => request),
		);
		for (const [index, [request, expected]] of TABLE.entries()) {
			assert.deepEqual(responses[index], expected, JSON.stringify(request));
		}
	});
}

/** Values of a member that the engine ignores, but whose end it must find. */
const JSON_TEXTS = [
	...["null", "true", "-0", "1.5e+300", "1E-2", '""', "[]", "{}", " \t{ } ", '{"a":{"a":1}}', '[{"a":[1,[]]},{}]'],
	...['"\\u0000\\ud83d\\udd11"', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"é\u2028"', '{"a\\\\":1,"\\"}":2}', '{"":0}'],
	...[`"${"[{".repeat(100)}"`, `[${"0,".repeat(500)}0]`, `"${"x".repeat(5000)}"`, '{"voucher":"nested"}'],
];
const OTHER_TEXTS = [
	...["", "{", "[", '"', '"a\\', '{"a"', '{"a":', '{"a":1', "[1,", "tru", "-", "1e", '"\\u00', "{}{}", "[]]", "1 2"],
	...["[,1]", "[1,,2]", "[1,]", '{"a":1,}', "{,}", '{"a",1}', "{:1}", "{a:1}", "{1:1}", "01", "+1", ".5", "1.", "0x1"],
	...[
		"True",
		"nul",
		"nullx",
		"1a",
		"'a'",
		'"\\x41"',
		'"\\u12"',
		'"\\a"',
		'"a\tb"',
		"[}",
		"{]",
		"]",
		"}",
		"/**/1",
		"1//",
	],
	...["\u00a01", "\f1", "#", '"a""b"', "[1 2]", '{"a" "b"}', '{"a":"b" "c":1}'],
];

for (const { name, command, skip } of LANGUAGES) {
	test(`the example in ${name} reads JSON, and nothing else`, { skip }, () => {
		const request = (text: string) => `{"method":"validate","params":{"other":${text},"voucher":"${KNOWN}"}}`;
		for (const text of JSON_TEXTS) assert.doesNotThrow(() => JSON.parse(text));
		for (const [index, response] of send(command, JSON_TEXTS.map(request)).entries()) {
			assert.deepEqual(response, VALID, `${JSON_TEXTS[index]}`);
		}
		for (const [index, response] of send(command, OTHER_TEXTS.map(request)).entries()) {
			assert.ok("error" in response, `${OTHER_TEXTS[index]}`);
		}
	});

	test(`the example in ${name} knows names and texts by any spelling of theirs`, { skip }, () => {
		const escaped = [...KNOWN].map((unit) => `\\u00${unit.charCodeAt(0).toString(16)}`).join("");
		const lines = [
			`{"\\u006dethod":"validat\\u0065","p\\u0061rams":{"vo\\u0075cher":"${escaped}"}}`,
			` { "params" : { "voucher" : "${KNOWN}" } , "method" : "validate" , "id" : 1 } \r`,
		];
		assert.deepEqual(send(command, lines), [VALID, VALID]);
		const beside = [
			`{"method":"validate","voucher":"${KNOWN}"}`,
			`{"method":"validate","params":{"a":{"voucher":"${KNOWN}"}}}`,
		];
		for (const response of send(command, beside)) assert.deepEqual(response, { error: "voucher is required" });
	});
}
