import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "../harness/engine-world.ts";
import { PROGRAM } from "../harness/program.ts";
import type { Server } from "../harness.ts";

const TIMEOUT_MS = 300_000;

/** `false` where `script` of util-linux, which gives a process a terminal, is installed; else the reason to skip the test. */
export const skipWithoutTerminal: string | false =
	spawnSync("script", ["--version"]).status === 0 ? false : "script is not installed: apt-get install bsdutils";

/** A started `svc`. */
export interface Svc {
	readonly child: ChildProcess;
	/** Returns everything on stdout so far. */
	stdout(): string;
	stderr(): string;
	/** Waits until stdout contains the text. */
	shows(text: string | RegExp): Promise<RegExpExecArray>;
	/** Waits until it has ended and all output is read. */
	ended(): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

/** Starts `svc` as somebody on their own machine. */
export interface Person extends AsyncDisposable {
	/** The person's home. */
	readonly home: string;
	/** Variables of everything that the person starts. */
	readonly env: Record<string, string>;
	start(args: readonly string[], env?: Record<string, string>): Svc;
	/** Starts it in the foreground of a new terminal, whose keys are typed into `child.stdin`. */
	startOnTerminal(args: readonly string[], size?: { readonly rows: number; readonly columns: number }): Svc;
	/** Starts it and waits for its end. */
	run(args: readonly string[], env?: Record<string, string>): ReturnType<Svc["ended"]>;
}

/** Prepares a person; disposing of it kills all processes that still run. */
export async function startPerson(server: Server, token: string): Promise<Person> {
	const home = await mkdtemp(join(tmpdir(), "svc-run-"));
	const cacert = join(home, "server.pem");
	await writeFile(cacert, server.ca);
	const env = {
		PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
		HOME: home,
		SVC_ADDRESS: server.url,
		SVC_CACERT: cacert,
		SVC_TOKEN: token,
	};
	const started: Svc[] = [];
	const begin = (command: string, args: readonly string[], more: Record<string, string>) => {
		const svc = startProcess(command, args, { ...env, ...more });
		started.push(svc);
		return svc;
	};
	const start: Person["start"] = (args, more = {}) => begin(PROGRAM.file, [...PROGRAM.arguments, ...args], more);
	return {
		home,
		env,
		start,
		startOnTerminal: (args, size) => {
			const line = [PROGRAM.file, ...PROGRAM.arguments, ...args]
				.map((word) => `'${word.replaceAll("'", "'\\''")}'`)
				.join(" ");
			const resize = size === undefined ? "" : `stty rows ${size.rows} cols ${size.columns}; `;
			const command = `${resize}exec ${line}`;
			return begin("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {});
		},
		run: (args, more) => start(args, more).ended(),
		[Symbol.asyncDispose]: async () => {
			for (const { child } of started) killSession(child);
			await rm(home, { recursive: true });
		},
	};
}

/** Starts a process in a new session, so that it has no terminal even when you run the tests from one. */
function startProcess(command: string, args: readonly string[], env: Record<string, string>): Svc {
	const onTerminal = command === "script";
	const child = spawn(command, args, { env, detached: true, stdio: [onTerminal ? "pipe" : "ignore", "pipe", "pipe"] });
	const killWithTest = () => killSession(child);
	process.once("exit", killWithTest);
	const late = setTimeout(killWithTest, TIMEOUT_MS);
	const written = { stdout: "", stderr: "" };
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		written.stdout += text;
	});
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		written.stderr += text;
	});
	const closed = once(child, "close").then(() => {
		clearTimeout(late);
		process.off("exit", killWithTest);
		return { code: child.exitCode, ...written };
	});
	return {
		child,
		stdout: () => written.stdout,
		stderr: () => written.stderr,
		ended: () => closed,
		shows: async (text) => {
			const found = () => new RegExp(text).exec(written.stdout);
			await eventually(`svc shows ${text}`, () => found() !== null || child.exitCode !== null);
			const match = found();
			if (match === null) throw new Error(`svc ended with ${child.exitCode}: ${written.stdout}${written.stderr}`);
			return match;
		},
	};
}

/** Kills the programs of its session, which may have outlived it. */
function killSession({ pid }: ChildProcess): void {
	if (pid === undefined) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// All have already ended.
	}
}
