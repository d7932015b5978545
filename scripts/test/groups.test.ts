import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { shareProcesses } from "./groups.ts";

const root = mkdtempSync(join(tmpdir(), "svc-groups-"));
after(() => rmSync(root, { recursive: true }));

/** Writes a test file. Returns its path. */
function write(path: string, text = 'test("passes", () => undefined);'): string {
	const file = join(root, path);
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(
		file,
		`import assert from "node:assert";\nimport { after, before, beforeEach, describe, test } from "node:test";\n${text}\n`,
	);
	return file;
}

/** The files of each process, without the root. */
function sharing(files: readonly string[]): string[][] {
	return shareProcesses(files, root, root).map((unit) => unit.files.map((file) => file.slice(root.length + 1)));
}

test("the files of a folder share a process, and so do those that are the only one in theirs", () => {
	const files = ["packages/a/b.test.mjs", "packages/a/c.test.mjs", "packages/a/d/e.test.mjs", "test/f.test.mjs"];
	assert.deepEqual(sharing(files.map((file) => write(file))), [files.slice(0, 2), files.slice(2)]);
	assert.deepEqual(sharing(files.slice(1, 2).map((file) => write(file))), [files.slice(1, 2)]);
});

test("a process has at most 16 files, and the processes of a folder have about as many each", () => {
	const files = Array.from({ length: 35 }, (_, index) => write(`packages/many/${index}.test.mjs`));
	assert.deepEqual(
		sharing(files).map(({ length }) => length),
		[12, 12, 11],
	);
});

for (const [what, text] of Object.entries({
	"clocks for all of its tests": 'mock.timers.enable({ apis: ["Date"] });',
	"a measurement of memory": "const before_bytes = process.memoryUsage().heapUsed;",
	"flags of V8": 'setFlagsFromString("--expose-gc");',
})) {
	test(`a file with ${what} has its own process`, () => {
		const others = ["packages/b/one.test.mjs", "packages/b/two.test.mjs"].map((file) => write(file));
		assert.deepEqual(sharing([...others, write("packages/b/alone.test.mjs", text)])[1], ["packages/b/alone.test.mjs"]);
	});
}

test("a long test has its own process, and begins as early as it is named", () => {
	const files = ["packages/c/three.long.test.ts", "packages/c/one.test.mjs", "packages/c/two.test.mjs"];
	assert.deepEqual(sharing(files.map((file) => write(file))), [files.slice(0, 1), files.slice(1)]);
});

test("each file of a process has its line, its time and its failures", () => {
	const { status, text } = reported([
		write("packages/d/1.test.mjs", 'test("fails", () => new Promise((_, reject) => setTimeout(reject, 300, "no")));'),
		write("packages/d/2.test.mjs", 'describe("inner", () => test("passes", () => undefined));'),
		write("packages/d/3.test.mjs", ""),
	]);
	assert.equal(status, 1, text);
	assert.match(text, /^1 of 3 +0\.\d s .*\/1\.test\.mjs\n(?:.*\n)*2 of 3 .*\/2\.test\.mjs\n3 of 3 .*\/3.test.mjs\n/m);
	assert.match(text, /slowest files\n +0\.\d s {2}packages\/d\/1\.test\.mjs\n/);
	assert.match(text, /slowest tests\n +0\.\d s {2}packages\/d\/1\.test\.mjs: fails\n.*2\.test\.mjs: inner\n\n/);
	assert.match(text, /tests 3\n.*pass 2\n.*fail 1\n/s);
	assert.match(text, /failing tests:.*d\/1\.test\.mjs:.*fails/s);
});

test("the processor time of a file includes that of the programs that it waited for", {
	skip: process.platform !== "linux",
}, () => {
	const compute =
		"const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end) for (let i = 0; i < 1e6; i++);";
	const { text } = reported([
		write("packages/g/1.test.mjs"),
		write("packages/g/2.test.mjs", `test("computes", () => { ${compute} });`),
		write(
			"packages/g/3.test.mjs",
			`import { spawnSync } from "node:child_process";
			test("waits", () => void spawnSync(process.execPath, ["-e", ${JSON.stringify(compute)}]));`,
		),
	]);
	const [, list = ""] = /most processor time, of \d\.\d s in all\n((?: .*\n)+)/.exec(text) ?? [];
	const seconds = new Map([...list.matchAll(/([\d.]+) s {2}(.*)/g)].map(([, s, name]) => [name, Number(s)]));
	assert.deepEqual(
		new Set(seconds.keys()),
		new Set([...["1", "2", "3"].map((name) => `packages/g/${name}.test.mjs`), "packages/g: loading 3 files"]),
	);
	assert.ok((seconds.get("packages/g/1.test.mjs") ?? 1) < 0.2, list);
	for (const name of ["2", "3"]) assert.ok((seconds.get(`packages/g/${name}.test.mjs`) ?? 0) >= 0.3, list);
});

test("the hooks of a file are for its own tests, and it is over before the next one begins", () => {
	const steps = (name: string) => `
		const log = (step) => (globalThis.log ??= []).push(step);
		before(async () => { await new Promise((resolve) => setTimeout(resolve, 20)); log("${name} before"); });
		beforeEach(() => log("${name} each"));
		after(() => log("${name} after"));
		test("${name}", () => log("${name}"));`;
	const { status, text } = reported([
		write("packages/e/1.test.mjs", steps("1")),
		write("packages/e/2.test.mjs", `await new Promise((resolve) => setTimeout(resolve, 100));\n${steps("2")}`),
		write(
			"packages/e/3.test.mjs",
			'const early = globalThis.log; test("3", () => assert.deepEqual([early, globalThis.log.join()], ' +
				'[undefined, "1 before,1 each,1,1 after,2 before,2 each,2,2 after"]));',
		),
	]);
	assert.equal(status, 0, text);
});

test("a file that cannot be loaded fails, with the error and its place, and the others run", () => {
	const { status, text } = reported([write("packages/f/1.test.mjs", "absent();"), write("packages/f/2.test.mjs")]);
	assert.equal(status, 1, text);
	assert.match(text, /absent is not defined\n.*packages\/f\/1\.test\.mjs:3/);
	assert.match(text, /pass 2\n/);
});

/** Runs the files in one process, as `npm test` does. */
function reported(files: readonly string[]): { status: number | null; text: string } {
	const program = join(root, "program.ts");
	const module = (name: string) => JSON.stringify(import.meta.resolve(name));
	writeFileSync(
		program,
		`import { mkdtempSync } from "node:fs";
		import { run } from "node:test";
		import { shareProcesses } from ${module("./groups.ts")};
		import { processorTimes } from ${module("./processor-times.ts")};
		import { report } from ${module("./report.ts")};
		const units = shareProcesses(${JSON.stringify(files)}, ${JSON.stringify(root)}, ${JSON.stringify(root)});
		const processor = processorTimes(units, ${JSON.stringify(`${root}/`)}, mkdtempSync(${JSON.stringify(`${root}/run-`)}));
		const options = { units, folder: ${JSON.stringify(`${root}/`)}, isVerbose: false, processorTimes: processor.files, write: (text) => process.stdout.write(text) };
		const passed = await report(run({ files: units.map(({ entry }) => entry), execArgv: [...processor.flags], cwd: ${JSON.stringify(root)} }), options);
		process.exitCode = passed ? 0 : 1;`,
	);
	assert.equal(shareProcesses(files, root, root).length, 1);
	const { status, stdout, stderr } = spawnSync(process.execPath, [program], { env: {}, encoding: "utf8" });
	return { status, text: stdout + stderr };
}
