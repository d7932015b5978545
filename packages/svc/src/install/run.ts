import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import type { Io } from "@svc/cli/io";

/** Result of a system command. `code` is undefined when it could not be started. */
interface Ended {
	readonly code: number | undefined;
	readonly stdout: string;
	readonly stderr: string;
}

/**
 * Runs a system command to its end.
 * @param input its standard input
 */
export type Run = (command: readonly [string, ...string[]], input?: string) => Promise<Ended>;

/** Tells whether systemd runs on this machine, as sd_booted(3) does. */
export function isSystemdRunning(): boolean {
	return existsSync("/run/systemd/system");
}

/** Longer than the unit's TimeoutStartSec. */
const TIMEOUT_MS = 11 * 60_000;
/** Folders of root's tools, even when `sudo` or `su` left them out of PATH. */
const TOOLS = "/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Runs commands with none of the caller's environment but PATH.
 * @param more further variables
 */
export function runner(io: Io, more: Readonly<Record<string, string>> = {}): Run {
	const PATH = [io.env.PATH, TOOLS].filter(Boolean).join(":");
	const options = { env: { PATH, LANG: "C.UTF-8", ...more }, timeout: TIMEOUT_MS };
	return ([file, ...args], input = "") =>
		new Promise((resolve) => {
			const child = execFile(file, args, options, (error, stdout, stderr) => {
				const code = typeof error?.code === "number" ? error.code : undefined;
				resolve({ code: error === null ? 0 : code, stdout, stderr });
			});
			// One that has already ended reads nothing.
			child.stdin?.on("error", () => {}).end(input);
		});
}

/** A command that works on the machine under the root. */
export function withRoot(root: string | undefined, file: string, ...args: string[]): [string, ...string[]] {
	return root === undefined ? [file, ...args] : [file, `--root=${root}`, ...args];
}
