import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { refuseUnsafeEnvironment } from "./unsafe-environment.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "svc-doors-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Starts the server with more flags and variables; it must end by itself within two minutes. */
function start(flags: readonly string[], env: Record<string, string>) {
	return new Promise<{ code: unknown; stderr: string }>((resolve) => {
		const options = {
			cwd: folder,
			env: { PATH: "/usr/bin:/bin", SVC_LISTEN: "127.0.0.1:0", ...env },
			timeout: 120_000,
		};
		execFile(process.execPath, [...flags, PROGRAM, "server"], options, (error, _, stderr) =>
			resolve({ code: error?.code, stderr }),
		);
	});
}

/** Code and settings that change nothing. */
const NO_CODE = "data:text/javascript,";
const settings = await mkdtemp(join(tmpdir(), "svc-doors-settings-"));
const SETTINGS = join(settings, "node.json");
await writeFile(SETTINGS, "{}");
after(() => rm(settings, { recursive: true, force: true }));

const REFUSED: [flags: string[], env: Record<string, string>, named: RegExp][] = [
	[[], { NODE_OPTIONS: "--no-warnings" }, /\bNODE_OPTIONS\b/],
	[[], { LD_PRELOAD: "libc.so.6" }, /\bLD_PRELOAD\b/],
	[["--inspect=127.0.0.1:0"], {}, /\bdebugger\b/],
	[["-r", "node:os"], {}, /\bdebugger\b/],
];

for (const [flags, env, named] of REFUSED) {
	test(`the server does not start with ${[...flags, ...Object.keys(env)]}`, async () => {
		const { code, stderr } = await start(flags, env);
		assert.equal(code, 78);
		assert.match(stderr, named);
		assert.deepEqual(await readdir(folder), []);
	});
}

const FLAGS = [
	["--inspect=127.0.0.1:0"],
	["--report-on-signal"],
	["--heapsnapshot-signal=SIGUSR2"],
	["--tls-keylog=keys"],
	["--trace-tls"],
	["--heap-prof", "--heap-prof-dir=/dev/null"],
	["--import", NO_CODE],
	[`--import=${NO_CODE}`],
	["--require", "node:os"],
	["-r", "node:os"],
	["--loader", NO_CODE],
	["--experimental-loader", NO_CODE],
	["--env-file=/dev/null"],
	["--env_file", "/dev/null"],
	["--env-file-if-exists=/dev/null"],
	[`--experimental-config-file=${SETTINGS}`],
	["--openssl-config=/dev/null"],
];
const SAY_FLAGS = join(settings, "say-flags.cjs");
await writeFile(SAY_FLAGS, "process.stdout.write(JSON.stringify(process.execArgv));");

/** Returns the flags as Node says them to its program. */
async function asSaid(flags: readonly string[]): Promise<string[]> {
	const { stdout } = await promisify(execFile)(process.execPath, [...flags, SAY_FLAGS], { cwd: settings });
	return JSON.parse(stdout);
}

for (const flags of FLAGS) {
	test(`a process with the flag ${flags.join(" ")} is not served from`, async () => {
		const execArgv = await asSaid(flags);
		assert.throws(() => refuseUnsafeEnvironment({ env: {}, execArgv }), /\bdebugger\b/);
	});
}

const VARIABLES = [
	"NODE_OPTIONS",
	"NODE_DEBUG",
	"NODE_DEBUG_NATIVE",
	"NODE_TLS_REJECT_UNAUTHORIZED",
	"SSLKEYLOGFILE",
	"LD_PRELOAD",
	"LD_AUDIT",
	"LD_LIBRARY_PATH",
	"GCONV_PATH",
	"OPENSSL_CONF",
	"OPENSSL_ENGINES",
	"OPENSSL_MODULES",
	"NAPI_RS_NATIVE_LIBRARY_PATH",
];

for (const name of VARIABLES) {
	test(`a process with ${name} is not served from`, () => {
		const refuse = (value: string) => refuseUnsafeEnvironment({ env: { [name]: value }, execArgv: [] });
		assert.throws(() => refuse("/somewhere"), new RegExp(`${name} is set`));
		refuse("");
	});
}

test("variables and flags that open no door are no reason to refuse", () => {
	const env = { NODE_PATH: "/somewhere", NODE_EXTRA_CA_CERTS: "/ca.pem", SSL_CERT_FILE: "/ca.pem", PATH: "/bin" };
	const execArgv = [
		"--disable-warning=ExperimentalWarning",
		"--max-old-space-size=512",
		"--cpu-prof",
		"--use-system-ca",
	];
	refuseUnsafeEnvironment({ env, execArgv });
});
