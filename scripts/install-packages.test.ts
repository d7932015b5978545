import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { skipWithoutTerminal } from "../test/run/run-world.ts";

const SCRIPT = fileURLToPath(new URL("./install-packages.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "svc-install-packages-"));
after(() => rmSync(folder, { recursive: true }));

/** Puts a program in the place of npx. */
function standIn(script: string): { PATH: string } {
	writeFileSync(join(folder, "npx"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
	return { PATH: `${folder}:${dirname(process.execPath)}:/usr/bin:/bin` };
}

test("a terminal shows that packages are being installed and erases the line afterwards", {
	skip: skipWithoutTerminal,
}, async () => {
	const done = join(folder, "done");
	const env = standIn(`until [ -e ${done} ]; do sleep 0.1; done`);
	const line = `'${process.execPath}' '${SCRIPT}'`;
	const child = spawn("script", ["--quiet", "--return", "--flush", "--command", line, "/dev/null"], { env });
	let shown = "";
	child.stdout.setEncoding("utf8").on("data", (text) => {
		shown += text;
		if (shown.includes("\r\u001b[Kinstalling packages, ")) writeFileSync(done, "");
	});
	const [code] = await once(child, "close");
	assert.equal(code, 0);
	assert.ok(shown.endsWith("\r\u001b[K"), shown);
});

test("without a terminal it prints nothing, unless it fails", () => {
	const run = (script: string) => spawnSync(process.execPath, [SCRIPT], { env: standIn(script), encoding: "utf8" });
	const quiet = run("echo Done");
	assert.deepEqual([quiet.status, quiet.stdout, quiet.stderr], [0, "", ""]);
	const failed = run("echo ERR_PNPM_OUTDATED_LOCKFILE; exit 3");
	assert.deepEqual([failed.status, failed.stdout, failed.stderr], [3, "", "ERR_PNPM_OUTDATED_LOCKFILE\n"]);
});
