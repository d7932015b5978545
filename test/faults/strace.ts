import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

/** `false` where strace is installed, else the reason to give for a skipped test. */
export const skipWithoutStrace: string | false =
	spawnSync("strace", ["--version"]).status === 0 ? false : "strace is not installed";

/** The command line that runs `command` under strace, its calls added to `log` with paths and whole strings. */
export function recordedCommand(command: string[], log: string, calls: string[], stringLimitBytes: number): string[] {
	const options = ["-f", "--seccomp-bpf", "-qq", "-A", "-y", "-xx", "-s", String(stringLimitBytes)];
	return ["strace", ...options, "-e", `trace=${calls.join(",")}`, "-o", log, "--", ...command];
}

/** The command line that runs `command` with a system call that fails or lingers, as `-e inject=` says; the calls are added to `log`. */
export function faultyCommand(command: string[], fault: string, log = "/dev/null"): string[] {
	const options = ["-f", "--seccomp-bpf", "-qq", "-e", `trace=${callOf(fault)}`, "-e", `inject=${fault}`, "-o", log];
	return ["strace", ...options, "--", ...command];
}

/** The process that a running strace has started. */
export function tracedPid(strace: ChildProcess): number {
	const children = readFileSync(`/proc/${strace.pid}/task/${strace.pid}/children`, "latin1");
	return Number(children.trim().split(" ")[0]);
}

/** A fault that a running process suffers until it is lifted. */
export interface Injection {
	lift(): Promise<void>;
}

/**
 * Makes a system call of a running process fail, in all its threads, from the moment of the answer on.
 * @param fault what strace's `-e inject=` takes, for example `pwrite64:error=ENOSPC`
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

/** Keeps reading to the end: strace would die of a closed pipe, and the fault with it. */
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
