/*
 * `npm test` runs all tests but those that are long by nature, `npm run test:all` runs all. Names or patterns of files: these only.
 * Small test files of a folder share a process, unless you say `--apart`.
 * `--width 1` sets the processes at once, `--verbose` shows each test. `--binary` starts svc as the single binary, made once, in place of the sources:
 * half the processor time. So does a run of all quick tests. Other runs start the sources; `test:all` also runs the black-box tests with the binary.
 */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import { run } from "node:test";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Built, buildBinary, skipWithoutStrip } from "../test/binary/built.ts";
import { shareProcesses, type Unit } from "./test/groups.ts";
import { processorTimes } from "./test/processor-times.ts";
import { report } from "./test/report.ts";
import { makeTemporary } from "./test/temporary.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Slow ones first, and before them the long ones: towards the end, no processor waits for the other. */
const PATTERNS = [
	"test/**/*.test.ts",
	"packages/server/src/{store,leases,engines}/**/*.test.ts",
	"plugins/**/*.test.ts",
	"scripts/**/*.test.ts",
	"packages/**/*.test.ts",
];

/** Tests that kill, cut power, load, wait for real deadlines, or run every command of the documentation. */
const LONG = /\.long\.test\.ts$/;

/** Milliseconds for a test, far more than the longest takes on a slow machine: one that hangs fails by name. */
const TEST_MS = 40 * 60_000;

const { values, positionals } = parseArgs({
	options: {
		all: { type: "boolean", default: false },
		apart: { type: "boolean", default: false },
		width: { type: "string" },
		verbose: { type: "boolean", default: false },
		binary: { type: "boolean" },
	},
	allowPositionals: true,
});

const files = filesOf(positionals, values.all);
if (files.length === 0) throw new Error("no test file has such a name");

const { env } = process;
using folder = makeTemporary(env, { inMemory: !values.all });
env.TMPDIR = folder.path;
const units: Unit[] = values.apart
	? files.map((file) => ({ entry: file, files: [file] }))
	: shareProcesses(files, ROOT, folder.path);
const processor = processorTimes(units, ROOT, folder.path);

const write = (text: string) => void process.stdout.write(text);
await using built = await ((values.binary ?? (positionals.length === 0 && !values.all && process.platform === "linux"))
	? binary()
	: undefined);

const hasPassed = await report(
	run({
		cwd: ROOT,
		files: units.map(({ entry }) => entry),
		concurrency: widthOf(values.width, values.all),
		execArgv: [...processor.flags],
		timeout: TEST_MS,
		env: { ...env, ...(built === undefined ? {} : { SVC_TEST_BINARY: built.file }) },
	}),
	{ units, folder: ROOT, isVerbose: values.verbose, processorTimes: processor.files, write },
);
process.exitCode = hasPassed ? 0 : 1;

/** Makes the single binary, or says why the tests start the sources instead. */
async function binary(): Promise<Built | undefined> {
	if (skipWithoutStrip === false) return buildBinary();
	write(`svc is started from source, which takes twice as long: ${skipWithoutStrip}\n`);
	return undefined;
}

function filesOf(patterns: readonly string[], isAll: boolean): string[] {
	const exclude = (path: string) => path.includes("node_modules");
	const found = (pattern: string) => globSync(resolve(ROOT, pattern), { exclude }).sort();
	if (patterns.length > 0) return patterns.flatMap(found);
	const all = [...new Set(PATTERNS.flatMap(found))];
	const quick = all.filter((file) => !LONG.test(file));
	return isAll ? [...all.filter((file) => LONG.test(file)), ...quick] : quick;
}

/** Processes at once. Quick tests wait more than they compute; the long ones measure and load the machine by themselves. */
function widthOf(given: string | undefined, isAll: boolean): number {
	return given === undefined ? availableParallelism() + (isAll ? 0 : 2) : Number(given);
}
