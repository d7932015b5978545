import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { skipWithoutStrip } from "../test/binary/built.ts";

const PROGRAM = fileURLToPath(new URL("test.ts", import.meta.url));

/* `npm test` itself runs with such a binary; this makes another one, which takes long. */
test("with --binary, test files get a single binary, which is gone afterwards", { skip: skipWithoutStrip }, (t) => {
	const folder = mkdtempSync(join(tmpdir(), "svc-npm-test-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const file = join(folder, "binary.test.mjs");
	writeFileSync(
		file,
		`import { execFileSync } from "node:child_process";
		import { test } from "node:test";
		test("the binary runs", () => execFileSync(process.env.SVC_TEST_BINARY, ["version"]));`,
	);
	const temporary = join(folder, "temporary");
	mkdirSync(temporary);
	const run = (...args: string[]) =>
		spawnSync(process.execPath, [PROGRAM, ...args, file], { env: { TMPDIR: temporary }, encoding: "utf8" });
	assert.equal(run().status, 1, "without it, they get none");
	const { status, stdout, stderr } = run("--binary");
	assert.equal(status, 0, stdout + stderr);
	assert.deepEqual(readdirSync(temporary), []);
});
