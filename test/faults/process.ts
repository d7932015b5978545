import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PROGRAM } from "../harness/program.ts";
import { tracedPid } from "./strace.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const START_TIMEOUT_MS = 180_000;
const LISTENING = /listening on (https?:\/\/\S+)/;

/** How a server is run for a fault test. */
export interface RunOptions {
	/** Its data directory; may hold the data of an earlier run. */
	readonly data: string;
	/** Variables on top of the few that every run has. */
	readonly env?: Readonly<Record<string, string>>;
	/** Arguments of node in place of the server's own, for one with weaker promises. */
	readonly script?: readonly string[];
	/** Puts another program in front of the command, such as strace. */
	readonly wrap?: (command: string[]) => string[];
}

/** How a process ended, and all that it wrote to stderr. */
export interface Ending {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stderr: string;
}

/** A server that listens, over plain HTTP: its answers are then legible in the record of its system calls. */
export interface Run {
	/** The server itself, also where it runs under strace. */
	readonly pid: number;
	readonly url: string;
	/** What it has written to stdout. */
	stdout(): string;
	/** Settles when it has ended, by whatever cause. */
	readonly ended: Promise<Ending>;
	/** Sends the signal and waits for the end. */
	kill(signal: NodeJS.Signals): Promise<Ending>;
}

/**
 * Starts a server and waits until it listens.
 * @throws Error with what it wrote to stderr when it ends first or stays silent for three minutes
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
 * Starts a server that is expected to refuse, and answers how it ended.
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
	const server = script === undefined ? [PROGRAM.file, ...PROGRAM.arguments, "server"] : [process.execPath, ...script];
	const [command = "", ...args] = wrap(server);
	return spawn(command, args, {
		cwd: REPOSITORY,
		env: {
			PATH: `${dirname(process.execPath)}:/usr/sbin:/usr/bin:/sbin:/bin`,
			HOME: data,
			SVC_DATA_DIR: data,
			SVC_LISTEN: "127.0.0.1:0",
			SVC_TLS_MODE: "off",
			...env,
		},
		stdio: ["ignore", "pipe", "pipe"],
	});
}

/** A killed strace lets its server live on, so the server is what has to be signalled. */
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

/** The address that it listens on, or how it ended without; killed when it does neither in time. */
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

/** Kills a start on the way, so many milliseconds after it began. */
export async function killedStart(options: RunOptions, afterMs: number): Promise<void> {
	const child = launch(options);
	const ended = endingOf(child);
	await setTimeout(afterMs);
	child.kill("SIGKILL");
	await ended;
}

/** Fails unless a start was refused with one sentence for a person, no stack and no second line, and a failure's exit code. */
export function assertRefusal({ code, signal, stderr }: Ending, says: RegExp): void {
	assert.ok(signal === null && code !== null && code > 0 && code < 128, `ended with ${code ?? signal}: ${stderr}`);
	assert.match(stderr, /^[^\n]+\n$/, "stderr is one line");
	assert.match(stderr, says);
}
