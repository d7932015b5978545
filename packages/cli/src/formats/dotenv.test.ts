import assert from "node:assert/strict";
import test from "node:test";
import { assertProblems } from "../testing/problems.ts";
import { parseDotenv } from "./dotenv.ts";
import { DotenvError } from "./imports/cursor.ts";

const firstValue = (line: string) => parseDotenv(line)[0]?.value;

const VALUES: readonly (readonly [file: string, value: string])[] = [
	["K=plain", "plain"],
	["K =plain", "plain"],
	["K= plain", "plain"],
	["  K=plain  \t", "plain"],
	["export K=plain", "plain"],
	["export\tK=plain", "plain"],
	["K=two words", "two words"],
	["K=a=b==", "a=b=="],
	["K=a # comment", "a"],
	["K=a\t#comment", "a"],
	["K=a#b", "a#b"],
	["K=#fff", "#fff"],
	["K=a#b #c", "a#b"],
	["K= # only a comment", ""],
	["K=", ""],
	["K=''", ""],
	['K=""', ""],
	["K=''  # empty", ""],
	["K=$HOME $X `ls` $(ls)", "$HOME $X `ls` $(ls)"],
	["K=back\\slash\\n", "back\\slash\\n"],
	["K=it's", "it's"],
	['K=say "hi" # x', 'say "hi"'],
	['K={"a": "b#c"}', '{"a": "b#c"}'],
	["K='a # b'", "a # b"],
	["K='a\\n$X\"'", 'a\\n$X"'],
	["K='one\ntwo\n'", "one\ntwo\n"],
	["K='one\r\ntwo'", "one\r\ntwo"],
	['K="a # b"  # comment', "a # b"],
	['K="a\\nb\\r\\t\\\\ \\" \\$X $Y"', 'a\nb\r\t\\ " $X $Y'],
	['K="\\d+\\s\\u0041"', "\\d+\\s\\u0041"],
	['K="\\\\n"', "\\n"],
	['K="ends in a backslash \\\\"', "ends in a backslash \\"],
	['K="one\ntwo # no comment\n=\n"', "one\ntwo # no comment\n=\n"],
	['K= "quoted" ', "quoted"],
	["K=Grüße 🗝️ 日本", "Grüße 🗝️ 日本"],
	["K=\u00a0kept\u00a0", "\u00a0kept\u00a0"],
	["\ufeffK=after a mark", "after a mark"],
	["K=crlf\r\n", "crlf"],
	["K='crlf'\r\n", "crlf"],
	["K=crlf # comment\r\n", "crlf"],
	["K=no line end\r", "no line end"],
	["K=nul\u0000inside", "nul\u0000inside"],
];

for (const [file, value] of VALUES) {
	test(`${JSON.stringify(file)} is read as ${JSON.stringify(value)}`, () => {
		assert.equal(firstValue(file), value);
	});
}

test("keys may hold what the service allows, and one may be named export", () => {
	const keys = parseDotenv("A_1=x\nb.c=x\nd/e-f=x\nexport=x\nexport export_me=x\n9=x").map(({ key }) => key);
	assert.deepEqual(keys, ["A_1", "b.c", "d/e-f", "export", "export_me", "9"]);
});

test("comments, blank lines and a missing line end at the end of the file are fine", () => {
	assert.deepEqual(parseDotenv("\n# one\n  # two\n\t\nA=1\n\r\n#three\r\nB=2"), [
		{ key: "A", value: "1", line: 5 },
		{ key: "B", value: "2", line: 8 },
	]);
	for (const nothing of ["", "\n", "# x", "  ", "\ufeff", "\r\n"]) assert.deepEqual(parseDotenv(nothing), []);
});

test("lines are counted through values of several lines", () => {
	assert.deepEqual(
		parseDotenv("A='1\n2\n3'\nB=\"4\n5\" # x\nC=6").map(({ line }) => line),
		[1, 4, 6],
	);
});

const SECRET = "hunter2";
const ERRORS: readonly (readonly [file: string, problem: string])[] = [
	[`A=1\n${SECRET}`, "line 2: KEY=value"],
	[`export ${SECRET}`, "line 1: KEY=value"],
	[`A: ${SECRET}`, "line 1: KEY=value"],
	[`=${SECRET}`, "line 1: KEY=value"],
	[`SCHLÜSSEL=${SECRET}`, "line 1: KEY=value"],
	[`A=1\nB='${SECRET}\nC=1\n`, "line 2: never closed"],
	[`A="${SECRET}\\"`, "line 1: never closed"],
	[`A='x\ny'${SECRET}`, "line 2: closing quote"],
	[`A="x"${SECRET}`, "line 1: closing quote"],
	[`A=1\n\nB=2\nA=${SECRET}`, "line 4: line 1"],
];

for (const [file, problem] of ERRORS) {
	test(`${JSON.stringify(file)} is refused by its line and not by its content`, () => {
		assert.throws(
			() => parseDotenv(file),
			(error) => {
				assert.ok(error instanceof DotenvError);
				assertProblems([`line ${error.line}: ${error.message}`], [problem]);
				return !error.message.includes(SECRET);
			},
		);
	});
}

test("a file of 200 awkward values is read back exactly, whichever quotes it uses", () => {
	const pieces = [
		"#",
		" #",
		"=",
		"'",
		'"',
		"\\",
		"\\n",
		"$",
		"$X",
		"\n",
		"\r\n",
		"\t",
		" ",
		"ü",
		"🗝️",
		"\u0000",
		"`",
		"a",
		"-----BEGIN KEY-----\n",
	];
	const values = Array.from({ length: 200 }, (_, index) =>
		Array.from({ length: 1 + (index % 7) }, (__, part) => pieces[(index * 7 + part * 11) % pieces.length]).join(""),
	);
	const file = values.map((value, index) => `export K${index} = ${quoted(value, index)} # comment ' "`).join("\n");
	assert.deepEqual(
		parseDotenv(file).map(({ value }) => value),
		values,
	);
});

/** Single quotes where they can hold the value, else double quotes. */
function quoted(value: string, index: number): string {
	if (index % 2 === 0 && !value.includes("'")) return `'${value}'`;
	return `"${value.replace(/[\\"$]/g, "\\$&").replaceAll("\t", "\\t")}"`;
}

test("long runs of blanks and long values take no noticeable time", () => {
	const long = `a${" ".repeat(200_000)}b`;
	assert.equal(firstValue(`K=${long}`), long);
	assert.equal(firstValue(`K="${"\\\\".repeat(200_000)}"`)?.length, 200_000);
});
