import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("test.ts", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "svc-npm-test-"));
after(() => rmSync(folder, { recursive: true }));

writeFileSync(
	join(folder, "quick.test.mjs"),
	`import { test } from "node:test";
	test("a quick one passes", () => undefined);
	test("a peer is asked", { skip: "slapd is not installed: apt-get install slapd" }, () => undefined);`,
);
writeFileSync(
	join(folder, "slow.test.mjs"),
	`import assert from "node:assert";
	import { setTimeout } from "node:timers/promises";
	import { test } from "node:test";
	test("a slow one fails", async () => { await setTimeout(200); assert.equal(1, 2); });`,
);

/** Runs the program without a trace of this run, which would keep it from running files. */
function testing(args: readonly string[], env = {}): { status: number | null; text: string } {
	const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { env, encoding: "utf8" });
	return { status, text: (stdout + stderr).replaceAll(`${folder}/`, "") };
}

test("a run shows each file, one line for each skip reason, the slowest tests, the summary and the failures", () => {
	const { status, text } = testing(["--apart", join(folder, "{quick,slow}.test.mjs")]);
	assert.equal(status, 1, text);
	assert.match(text, /^1 of 2 +\d+\.\d s {2}quick\.test\.mjs$/m);
	assert.match(text, /^2 of 2 +\d+\.\d s {2}slow\.test\.mjs$/m);
	assert.match(text, /^1 skipped: slapd is not installed: apt-get install slapd$/m);
	assert.match(text, /slowest files\n +\d+\.\d s {2}slow\.test\.mjs\n +\d+\.\d s {2}quick\.test\.mjs\n/);
	assert.match(text, /slowest tests\n +\d+\.\d s {2}slow\.test\.mjs: a slow one fails\n/);
	assert.match(text, /tests 3\n.*suites 0\n.*pass 1\n.*fail 1\n.*cancelled 0\n.*skipped 1\n/s);
	assert.match(text, /failing tests:.*a slow one fails.*1 == 2/s);
	assert.doesNotMatch(text, /a quick one passes \(/);
});

test("a run whose tests all pass exits with 0, and lists them on request", () => {
	const { status, text } = testing([join(folder, "quick.test.mjs"), "--verbose"]);
	assert.equal(status, 0, text);
	assert.match(text, /a quick one passes \(\d/);
});

test("a run without a file fails", () => {
	assert.equal(testing([join(folder, "none.test.mjs")]).status, 1);
});
