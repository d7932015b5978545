import assert from "node:assert/strict";
import test from "node:test";
import { assertProblems } from "../../../testing/problems.ts";
import { describeProblem, startResult } from "../import-result.ts";
import { DIALECTS, dialectsOf, differencesOf } from "./dialects.ts";

function read(dialect: string, text: string) {
	const draft = startResult();
	DIALECTS[dialect]?.(draft, text);
	return draft;
}

const OPEN = "(never closed)";
const NO_ENTRY = "(KEY=value)";
const RUNS = "(shell)";
const VARIABLE = "(variable)";
const AFTER = "(closing quote)";
const REASONS = [OPEN, NO_ENTRY, RUNS, VARIABLE, AFTER];

/** The value of `A`, or a word of the mistake's reason in parentheses. */
function outcomeOf(dialect: string, line: string): string | undefined {
	const { entries, problems } = read(dialect, line);
	const [mistake] = problems;
	if (mistake === undefined) return entries[0]?.value;
	return REASONS.find((reason) => mistake.problem.includes(reason.slice(1, -1))) ?? mistake.problem;
}

/** Lines on which programs differ, with the value for each. */
const TABLE: readonly (readonly [
	line: string,
	node: string | undefined,
	compose: string,
	docker: string,
	shell: string,
	systemd: string,
])[] = [
	["A=a#b", "a", "a#b", "a#b", "a#b", "a#b"],
	["A=a #b", "a", "a", "a #b", "a", "a #b"],
	['A="x"', "x", "x", '"x"', "x", "x"],
	['A="t\\tx"', "t\\tx", "t\tx", '"t\\tx"', "t\\tx", "t\\tx"],
	['A="C:\\new\\table"', "C:\new\\table", "C:\new\table", '"C:\\new\\table"', "C:\\new\\table", "C:\\new\\table"],
	['A="a\\$b"', "a\\$b", "a$b", '"a\\$b"', "a$b", "a$b"],
	["A=a$HOME", "a$HOME", VARIABLE, "a$HOME", RUNS, "a$HOME"],
	["A=a$$b", "a$$b", "a$b", "a$$b", RUNS, "a$$b"],
	["A='it'\\''s'", "it", AFTER, "'it'\\''s'", "it's", "it''s'"],
	["A='a\\'b'", "a\\", "a'b", "'a\\'b'", OPEN, "a\\b'"],
	['A="p\\"q"', "p\\", 'p"q', '"p\\"q"', 'p"q', 'p"q'],
	["A=`x y`", "x y", "`x y`", "`x y`", RUNS, "`x y`"],
	["A=C:\\new", "C:\\new", "C:\\new", "C:\\new", "C:new", "C:new"],
	["A: v", undefined, "v", NO_ENTRY, NO_ENTRY, NO_ENTRY],
	["export A=1", "1", "1", NO_ENTRY, "1", NO_ENTRY],
	["A = v", "v", "v", NO_ENTRY, NO_ENTRY, "v"],
	["A=x\r\n", "x", "x", "x", "x\r", "x"],
	["A='x'  'y'", "x", AFTER, "'x'  'y'", RUNS, "xy"],
	["A=a\\ b\\  ", "a\\ b\\", "a\\ b\\", "a\\ b\\  ", "a b ", "a b "],
	["A=~/x", "~/x", "~/x", "~/x", RUNS, "~/x"],
];

for (const [line, ...values] of TABLE) {
	test(`${JSON.stringify(line)} is read as each program reads it`, () => {
		const found = ["node", "compose", "docker", "shell", "systemd"].map((dialect) => outcomeOf(dialect, line));
		assert.deepEqual(found, values);
	});
}

test("values of several lines keep the lines of their keys, and reading continues after a mistake", () => {
	const text = "# x\nA='1\n2'\nB=\"3\n4\"\n\nC=5\n";
	for (const dialect of ["node", "compose", "shell", "systemd"])
		assert.deepEqual(
			read(dialect, text).entries.map(({ key, value, line }) => [key, value, line]),
			[
				["A", "1\n2", 2],
				["B", "3\n4", 4],
				["C", "5", 7],
			],
			dialect,
		);
	const wrong = "A=$x\nB\nC=1\nD='x\nE=2\n";
	assertProblems(read("compose", wrong).problems.map(describeProblem), [
		"line 1, A: variable",
		"line 2, B: no value",
		"line 4, D: never closed",
	]);
	assert.deepEqual(
		read("shell", wrong).entries.map(({ key }) => key),
		["C", "E"],
	);
	assertProblems(read("docker", "A=1\nB\n").problems.map(describeProblem), ["line 2, B: no value"]);
});

test("a key that Node reads twice appears twice in what is read, so that it is found as a mistake", () => {
	assert.deepEqual(
		read("node", "A=1\nB='\nA=2\n'\nC=3\nC=4\n").entries.map(({ key, line }) => [key, line]),
		[
			["A", 1],
			["B", 2],
			["C", 5],
			["C", 6],
		],
	);
});

test("long values take no noticeable time in any dialect", () => {
	for (const [dialect, text] of [
		["compose", `A="${"\\\\".repeat(200_000)}"`],
		["shell", `A="${"\\\\".repeat(200_000)}"`],
		["systemd", `A="${"\\\\".repeat(200_000)}"`],
		["systemd", `A=${" \\ ".repeat(100_000)}x`],
		["docker", `A=${" ".repeat(200_000)}`],
		["node", `A="${"\\n".repeat(200_000)}"`],
	] as const)
		assert.equal(read(dialect, text).entries.length, 1, dialect);
});

test("lines that programs read differently are listed, and a file that all read alike gives nothing", () => {
	assert.deepEqual(differencesOf("A=1\nB='x y'\nC=\"z\"\n# x\n"), []);
	assert.deepEqual(differencesOf('A=1\nB=a#b\nC=$x\nD="\\t"\n'), [
		{ dialect: "node", lines: [2, 4] },
		{ dialect: "compose", lines: [3] },
		{ dialect: "shell", lines: [3, 4] },
	]);
});

test("dialects without a mistake are named for a file in which svc finds one", () => {
	assert.deepEqual(dialectsOf("A='it'\\''s'\n"), ["node", "docker", "shell", "systemd"]);
	assert.deepEqual(dialectsOf("A: v\nB=1\n"), ["node", "compose"]);
});
