import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LISTENING } from "../harness/listening.ts";
import { CACHED, PROGRAM } from "../harness/program.ts";
import { tracedPid } from "./strace.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const START_TIMEOUT_MS = 180_000;

/** Options of a server in a fault test. */
export interface RunOptions {
	/** The server's data directory; may hold the data of an earlier run. */
	readonly data: string;
	/** Variables in addition to the few of every run. */
	readonly env?: Readonly<Record<string, string>>;
	/** Arguments of node that replace the server's own, for one with weaker promises. */
	readonly script?: readonly string[];
	/** Puts another program, such as strace, in front of the command. */
	readonly wrap?: (command: string[]) => string[];
}

/** The end of a process, and its whole output to stderr. */
export interface Ending {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stderr: string;
}

/** A server that listens on plain HTTP, so that its answers are legible in the record of its system calls. */
export interface Run {
	/** The id of the server itself, even under strace. */
	readonly pid: number;
	readonly url: string;
	/** Returns the output to stdout so far. */
	stdout(): string;
	/** Settles when the server has ended, for any reason. */
	readonly ended: Promise<Ending>;
	/** Sends the signal and waits for the end. */
	kill(signal: NodeJS.Signals): Promise<Ending>;
}

/**
 * Starts a server and waits until it listens.
 * @throws Error with its stderr when it ends first or stays silent for three minutes
 */
export async function runServer(options: RunOptions): Promise<Run> {
	const child = launch(options);
	const ended = endingOf(child);
	let stdout = "";
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		stdout += text;
	});
	const outcome = await startOf(child, ended);
	if (typeof outcome !== "string") {
		throw new Error(`the server ended with ${outcome.code ?? outcome.signal} before it listened: ${outcome.stderr}`);
	}
	const pid = serverPid(child);
	const killWithTest = () => process.kill(pid, "SIGKILL");
	process.once("exit", killWithTest);
	const kill = (signal: NodeJS.Signals) => {
		if (child.exitCode === null && child.signalCode === null) process.kill(pid, signal);
		return ended;
	};
	return {
		pid,
		url: outcome,
		stdout: () => stdout,
		ended: ended.finally(() => process.off("exit", killWithTest)),
		kill,
	};
}

/**
 * Starts a server that is expected to refuse, and returns its end.
 * @throws Error when it listens instead, after ending it
 */
export async function refusedStart(options: RunOptions): Promise<Ending> {
	const child = launch(options);
	const ended = endingOf(child);
	const outcome = await startOf(child, ended);
	if (typeof outcome !== "string") return outcome;
	process.kill(serverPid(child), "SIGKILL");
	await ended;
	throw new Error("the server started although it should have refused");
}

function launch({ data, env, script, wrap = (command) => command }: RunOptions): ChildProcess {
	const own = script && [process.execPath, ...CACHED, ...script];
	const server = own ?? [PROGRAM.file, ...PROGRAM.arguments, "server"];
	const [command = "", ...args] = wrap(server);
	return spawn(command, args, {
		cwd: REPOSITORY,
		env: {
			PATH: `${dirname(process.execPath)}:/usr/sbin:/usr/bin:/sbin:/bin`,
			HOME: data,
			...PROGRAM.environment,
			SVC_DATA_DIR: data,
			SVC_LISTEN: "127.0.0.1:0",
			SVC_TLS_MODE: "off",
			...env,
		},
		stdio: ["ignore", "pipe", "pipe"],
	});
}

/** When strace is killed its server lives on, so signals must go to the server. */
function serverPid(child: ChildProcess): number {
	return child.spawnfile === "strace" ? tracedPid(child) : (child.pid ?? 0);
}

async function endingOf(child: ChildProcess): Promise<Ending> {
	let stderr = "";
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		stderr += text;
	});
	const [code, signal] = await once(child, "close");
	return { code, signal, stderr };
}

/** Returns the address on which the server listens, or its end; kills it when neither comes in time. */
async function startOf(child: ChildProcess, ended: Promise<Ending>): Promise<string | Ending> {
	const silence = globalThis.setTimeout(() => process.kill(serverPid(child), "SIGKILL"), START_TIMEOUT_MS);
	const outcome = await Promise.race([listening(child), ended]);
	clearTimeout(silence);
	return outcome;
}

/** Never settles when the process ends without listening. */
function listening(child: ChildProcess): Promise<string> {
	return new Promise((resolve) => {
		let stdout = "";
		child.stdout?.setEncoding("utf8").on("data", (text: string) => {
			stdout += text;
			const url = LISTENING.exec(stdout)?.[1];
			if (url !== undefined) resolve(url);
		});
	});
}

/** Kills a starting server this many milliseconds after its start. */
export async function killedStart(options: RunOptions, afterMs: number): Promise<void> {
	const child = launch(options);
	const ended = endingOf(child);
	await setTimeout(afterMs);
	child.kill("SIGKILL");
	await ended;
}

/** Fails unless the start was refused with one sentence for people, without a stack or second line, and with a failure's exit code. */
export function assertRefusal({ code, signal, stderr }: Ending, says: RegExp): void {
	assert.ok(signal === null && code !== null && code > 0 && code < 128, `ended with ${code ?? signal}: ${stderr}`);
	assert.match(stderr, /^[^\n]+\n$/, "stderr is one line");
	assert.match(stderr, says);
}
