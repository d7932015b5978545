import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { listening } from "../../test/harness/listening.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
/** Characters of a child's stderr kept for the report of its failure. */
const KEPT_STDERR = 4000;

const running = new Set<ChildProcess>();

process.once("exit", () => {
	for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/** Ends the child, by its id, when this process ends first. */
export function endWithThisProcess(child: ChildProcess): void {
	running.add(child);
	child.once("exit", () => running.delete(child));
}

/** A server in a process of its own. */
export interface ServerProcess {
	/** Such as `http://127.0.0.1:40123`. */
	readonly url: string;
	readonly pid: number;
	/** Milliseconds from its spawning to the line with its address. */
	readonly startMs: number;
	/** Ends it with SIGTERM and waits. @throws Error when it does not end within 20 s */
	stop(): Promise<void>;
}

/** Command that starts a server process. */
export interface ServerCommand {
	/** The program; this Node when it is absent. */
	readonly file?: string;
	readonly args: readonly string[];
	/** Its environment besides PATH: it inherits nothing else. */
	readonly env: Readonly<Record<string, string>>;
	/** Written to its stdin. */
	readonly input?: string;
}

/**
 * Starts a server and waits for its address.
 * @throws Error with the end of its stderr when it ends before that, or is silent for 60 s
 */
export async function startServerProcess(command: ServerCommand): Promise<ServerProcess> {
	const started = performance.now();
	const child = spawn(command.file ?? process.execPath, command.args, {
		cwd: REPOSITORY,
		env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, ...command.env },
		stdio: ["pipe", "pipe", "pipe"],
	});
	endWithThisProcess(child);
	child.stdin.on("error", () => undefined);
	child.stdin.end(command.input ?? "");
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr = (stderr + text).slice(-KEPT_STDERR);
	});
	const url = await listening(child, START_TIMEOUT_MS, () => stderr);
	const startMs = performance.now() - started;
	return { url, pid: child.pid ?? 0, startMs, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit", { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) });
	child.kill("SIGTERM");
	await exited;
}
