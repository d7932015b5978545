import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

/** `false` where strace is installed, else the reason to skip the test. */
export const skipWithoutStrace: string | false =
	spawnSync("strace", ["--version"]).status === 0 ? false : "strace is not installed: apt-get install strace";

/** Returns the command line that runs `command` under strace and adds its calls to `log` with paths and whole strings. */
export function recordedCommand(command: string[], log: string, calls: string[], stringLimitBytes: number): string[] {
	const options = ["-f", "--seccomp-bpf", "-qq", "-A", "-y", "-xx", "-s", String(stringLimitBytes)];
	return ["strace", ...options, "-e", `trace=${calls.join(",")}`, "-o", log, "--", ...command];
}

/** Returns the command line that runs `command` with a failing or slow system call, as `-e inject=` says, and adds the calls to `log`. */
export function faultyCommand(command: string[], fault: string, log = "/dev/null"): string[] {
	const options = ["-f", "--seccomp-bpf", "-qq", "-e", `trace=${callOf(fault)}`, "-e", `inject=${fault}`, "-o", log];
	return ["strace", ...options, "--", ...command];
}

/** Returns the process that a running strace has started. */
export function tracedPid(strace: ChildProcess): number {
	const children = readFileSync(`/proc/${strace.pid}/task/${strace.pid}/children`, "latin1");
	return Number(children.trim().split(" ")[0]);
}

/** A fault of a running process, until you lift it. */
export interface Injection {
	lift(): Promise<void>;
}

/**
 * Makes a system call of a running process fail in all its threads, from the moment this resolves.
 * @param fault a value of strace's `-e inject=`, for example `pwrite64:error=ENOSPC`
 * @param file only calls on this file fail
 */
export async function injectFault(pid: number, fault: string, file?: string): Promise<Injection> {
	const options = ["-f", "-p", String(pid), "-e", `trace=${callOf(fault)}`, "-e", `inject=${fault}`, "-o", "/dev/null"];
	if (file !== undefined) options.push("-P", file);
	const strace = spawn("strace", options, { stdio: ["ignore", "ignore", "pipe"] });
	const exited = once(strace, "exit");
	await attached(strace);
	const lift = async () => {
		strace.kill("SIGINT");
		await exited;
	};
	return { lift };
}

/** Reads to the end: a closed pipe would kill strace and remove the fault. */
function attached(strace: ChildProcess): Promise<void> {
	return new Promise((resolve, reject) => {
		let said = "";
		strace.stderr?.setEncoding("utf8").on("data", (text: string) => {
			said += text;
			if (said.includes(" attached")) resolve();
		});
		strace.once("close", () => reject(new Error(`strace could not attach: ${said}`)));
	});
}

function callOf(fault: string): string {
	return fault.split(":")[0] ?? fault;
}
