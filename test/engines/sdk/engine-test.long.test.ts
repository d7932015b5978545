/* `svc engine test`, as an engine's author uses it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SH = join(ROOT, "packages/plugin-sdk/examples/sh");

const scratch = mkdtempSync(join(tmpdir(), "svc-engine-author-"));
after(() => rmSync(scratch, { recursive: true }));

function engineTest(...args: string[]) {
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[join(ROOT, "packages/svc/src/main.ts"), "engine", "test", ...args],
		{ env: { PATH: "/usr/bin:/bin" }, encoding: "utf8", timeout: 300_000 },
	);
	return { status, lines: stdout.trimEnd().split("\n"), stderr };
}

/** Changes the example in sh. */
function changed(change: (script: string) => string): string {
	const directory = mkdtempSync(join(scratch, "engine-"));
	copyFileSync(join(SH, "plugin.json"), join(directory, "plugin.json"));
	writeFileSync(join(directory, "voucher.sh"), change(readFileSync(join(SH, "voucher.sh"), "utf8")));
	chmodSync(join(directory, "voucher.sh"), 0o755);
	return directory;
}

test("an engine that keeps the contract gets a line for each case, and 0", () => {
	const { status, lines, stderr } = engineTest(SH);
	assert.deepEqual([status, stderr], [0, ""]);
	assert.equal(lines.pop(), `${lines.length} ok, 0 not ok`);
	for (const line of lines) assert.match(line, /^ok - \S.*[^.]$/);
	assert.ok(lines.some((line) => line.startsWith("ok - describe ")));
});

test("an engine that does not gets what is wrong and what to do on one line, and 1", () => {
	const directory = changed((script) => script.replace("*) error 'unknown method'", "*) data '{}'"));
	const { status, lines } = engineTest(directory);
	assert.equal(status, 1);
	const found = lines.filter((line) => line.startsWith("not ok - "));
	for (const line of found) assert.match(line, /: \S.* To do: \S/);
	assert.deepEqual(
		found.map((line) => /unknown method|list|privileges|requests/.exec(line)?.[0]),
		["unknown method", "list", "privileges", "requests"],
	);
	assert.match(lines.at(-1) ?? "", /^\d+ ok, 4 not ok$/);
});

test("what the engine writes to standard error is shown, and the variables that it is given reach it", () => {
	const directory = changed((script) =>
		script.replace("\nexit 0", '\necho "limit $SVC_VOUCHER_LIMIT, home $HOME" >&2'),
	);
	const { status, stderr } = engineTest(directory, "--env", "SVC_VOUCHER_LIMIT=5=a", "--env=SVC_OTHER=");
	assert.equal(status, 0);
	assert.match(stderr, /^(limit 5=a, home \n)+$/);
});

test("a built-in engine is run from its folder", () => {
	const { status, lines, stderr } = engineTest(join(ROOT, "plugins/keyvalue"));
	assert.deepEqual([status, stderr], [0, ""]);
	assert.match(lines.at(-1) ?? "", /, 0 not ok$/);
});

test("a folder without an engine fails with 1", () => {
	const { status, lines } = engineTest(scratch);
	assert.equal(status, 1);
	assert.equal(lines.length, 2);
	assert.match(lines[0] ?? "", /^not ok - .*: .*\bplugin\.json\b.* To do: /);
});

test("nonsense is refused with 2, in a sentence that repeats none of it", () => {
	const CANARY = "SVC_CANARY";
	const calls: [args: string[], says: RegExp][] = [
		[[], /^svc: .*'folder'\n/],
		[[SH, SH], /^svc: .*\bmore words\b/],
		[[join(scratch, CANARY)], /^svc: .*\bfolder\n$/],
		[[join(SH, "plugin.json")], /^svc: .*\bfolder\n$/],
		[[SH, `--${CANARY}`], /^svc: .*\boption\n/],
		[[SH, "--env"], /^svc: .*--env <SVC_NAME=VALUE>/],
		...["PATH=CANARY", "LD_PRELOAD=CANARY", CANARY, "SVC_=CANARY", "svc_a=CANARY", "=CANARY"].map(
			(variable): [string[], RegExp] => [[SH, "--env", variable], /^svc: --env .*\bSVC_NAME=VALUE\b/],
		),
	];
	for (const [args, says] of calls) {
		const { status, lines, stderr } = engineTest(...args);
		assert.deepEqual([status, lines], [2, [""]]);
		assert.match(stderr, says);
		assert.ok(!stderr.includes("CANARY"));
	}
});

test("with --json the report is one document", () => {
	const { status, lines, stderr } = engineTest(scratch, "--json");
	assert.equal(status, 1);
	const { results } = JSON.parse(lines.join("\n"));
	assert.deepEqual(
		results.map(({ passed }: { passed: boolean }) => passed),
		[false],
	);
	assert.equal(JSON.parse(stderr).error.code, "failed");
});

test("--help shows how it is used, and the help of engines lists it with the client's commands", () => {
	const { status, lines } = engineTest("--help");
	assert.equal(status, 0);
	assert.match(lines[0] ?? "", /^Usage: svc engine test \[options\] <folder>/);
	assert.ok(!lines.join().includes("--address"), "it asks no server");
	const main = join(ROOT, "packages/svc/src/main.ts");
	const env = { PATH: "/usr/bin:/bin" };
	const group = spawnSync(process.execPath, [main, "engine", "--help"], { env, encoding: "utf8" });
	assert.equal(group.status, 0);
	assert.match(group.stdout, /^Usage: svc engine .*\n {2}generate <type> .*\n {2}test <folder> /s);
});
