import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "svc-doors-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Starts the server with more flags and variables; it must end by itself within 20 s. */
function start(flags: readonly string[], env: Record<string, string>) {
	return new Promise<{ code: unknown; stderr: string }>((resolve) => {
		const options = { cwd: folder, env: { PATH: "/usr/bin:/bin", SVC_LISTEN: "127.0.0.1:0", ...env }, timeout: 20_000 };
		execFile(process.execPath, [...flags, PROGRAM, "server"], options, (error, _, stderr) =>
			resolve({ code: error?.code, stderr }),
		);
	});
}

const REFUSED: [flags: string[], env: Record<string, string>, named: RegExp][] = [
	[[], { NODE_OPTIONS: "--no-warnings" }, /NODE_OPTIONS is set/],
	[[], { NODE_DEBUG: "tls" }, /NODE_DEBUG is set/],
	[[], { SSLKEYLOGFILE: "keys" }, /SSLKEYLOGFILE is set/],
	[[], { LD_PRELOAD: "libc.so.6" }, /LD_PRELOAD is set/],
	[[], { NODE_TLS_REJECT_UNAUTHORIZED: "0" }, /NODE_TLS_REJECT_UNAUTHORIZED is set/],
	[["--inspect=127.0.0.1:0"], {}, /with a debugger/],
	[["--report-on-signal"], {}, /with a debugger, a report/],
];

for (const [flags, env, named] of REFUSED) {
	test(`the server does not start with ${[...flags, ...Object.keys(env)]}`, async () => {
		const { code, stderr } = await start(flags, env);
		assert.equal(code, 78);
		assert.match(stderr, named);
		assert.deepEqual(await readdir(folder), []);
	});
}
