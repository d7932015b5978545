import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import type { Outcome } from "../harness/cli.ts";
import { PROGRAM } from "../harness/program.ts";

const TIMEOUT_MS = 300_000;

/** Runs a local command of `svc` on a data directory. @param env additional variables */
export async function runLocal(
	data: string,
	args: readonly string[],
	env: Record<string, string> = {},
): Promise<Outcome> {
	const own = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: data, SVC_DATA_DIR: data };
	const child = spawn(PROGRAM.file, [...PROGRAM.arguments, ...args], {
		env: { ...own, ...PROGRAM.environment, ...env },
		stdio: ["ignore", "pipe", "pipe"],
		timeout: TIMEOUT_MS,
		killSignal: "SIGKILL",
	});
	const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
	return { code: child.exitCode, stdout, stderr };
}
