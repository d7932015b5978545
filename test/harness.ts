import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTestDatabase } from "./harness/database.ts";
import { listening } from "./harness/listening.ts";
import { NODES, startNodes } from "./harness/nodes.ts";
import { CACHED, PROGRAM, type Program } from "./harness/program.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 120_000;

/** Settings of one test server: environment variables in addition to the few of every test server. */
export interface ServerOptions {
	readonly env?: Readonly<Record<string, string>>;
	/** Program for Node to run instead of `svc server`: a test's own, which starts the server in its own way, always from source. */
	readonly program?: string;
}

/** A real server process on loopback with its own data folder. It shares nothing with other test files. */
export interface Server {
	/** Its current address, such as `https://127.0.0.1:40123`; a restart changes it. */
	readonly url: string;
	/** Its process id; a restart changes it. */
	readonly pid: number;
	/** Its data directory, which `close` removes. */
	readonly data: string;
	/** The certificate it serves, in PEM, for use as `ca`. */
	readonly ca: string;
	/** Everything written to stdout since the first start. */
	stdout(): string;
	/** Everything written to stderr since the first start. */
	stderr(): string;
	/** Sends the signal and waits for the end; returns the exit code, or null when the signal ended it. */
	kill(signal: NodeJS.Signals): Promise<number | null>;
	/** Waits until the server has ended by itself; returns the signal that ended it, if any. The data stays. */
	ended(): Promise<NodeJS.Signals | null>;
	/** Stops it with SIGTERM, which must give exit code 0. The data stays. */
	stop(): Promise<void>;
	/** Stops it if it runs and starts it on the same data, with these variables changed. */
	restart(env?: Readonly<Record<string, string>>): Promise<void>;
	/** Stops it and removes its data. */
	close(): Promise<void>;
}

interface Running {
	child: ChildProcess;
	/** Settles when the process has ended and all its output has been read. */
	closed: Promise<unknown>;
	url: string;
	ca: string;
}

/**
 * Starts a server on a free port of the loopback interface and waits until it listens; with SVC_TEST_NODES, several behind one address.
 * @throws Error with the server's stderr when it ends or stays silent for three minutes
 */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
	return NODES > 1 && options.program === undefined ? startNodes(options, startOne) : startOne(options);
}

async function startOne(options: ServerOptions): Promise<Server> {
	const data = await mkdtemp(join(tmpdir(), "svc-test-"));
	const written = { stdout: "", stderr: "" };
	const database = options.env?.SVC_DATABASE_URL === undefined ? await createTestDatabase() : undefined;
	let env: Record<string, string> = { ...environment(data), ...database?.env, ...options.env };
	const program = programOf(options);
	let running: Running | undefined = await start(program, data, env, written);
	const current = (): Running => {
		assert.ok(running, "the test server is not running");
		return running;
	};
	const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
		const { child } = current();
		running = undefined;
		return end(child, signal);
	};
	const stop = async (): Promise<void> => {
		if (running) assert.equal(await kill("SIGTERM"), 0, `SIGTERM ends the server with exit code 0\n${written.stderr}`);
	};
	return {
		data,
		get url() {
			return current().url;
		},
		get ca() {
			return current().ca;
		},
		get pid() {
			return current().child.pid ?? 0;
		},
		stdout: () => written.stdout,
		stderr: () => written.stderr,
		kill,
		ended: async () => {
			const { child, closed } = current();
			const timeout = setTimeout(() => child.kill("SIGTERM"), START_TIMEOUT_MS);
			await closed;
			clearTimeout(timeout);
			running = undefined;
			return child.signalCode;
		},
		stop,
		restart: async (changes = {}) => {
			await stop();
			env = { ...env, ...changes };
			running = await start(program, data, env, written);
		},
		close: async () => {
			await stop();
			await rm(data, { recursive: true, force: true });
			await database?.drop();
		},
	};
}

/** Built from nothing, so that the variables of your shell cannot change the outcome. */
function environment(data: string): Record<string, string> {
	return {
		PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
		HOME: data,
		...PROGRAM.environment,
		SVC_DATA_DIR: data,
		SVC_LISTEN: "127.0.0.1:0",
		SVC_LOG_LEVEL: "debug",
		SVC_REGISTRATION_MODE: "open",
	};
}

function programOf({ program }: ServerOptions): Program {
	if (program === undefined) return { ...PROGRAM, arguments: [...PROGRAM.arguments, "server"] };
	return { ...PROGRAM, file: process.execPath, arguments: [...CACHED, join(REPOSITORY, program)] };
}

async function start(
	{ file, arguments: args }: Program,
	data: string,
	env: Record<string, string>,
	written: { stdout: string; stderr: string },
): Promise<Running> {
	const child = spawn(file, args, {
		cwd: data,
		env,
		stdio: ["ignore", "pipe", "pipe"],
	});
	const killWithTest = (): void => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	child.once("exit", () => process.off("exit", killWithTest));
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		written.stderr += text;
	});
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		written.stdout += text;
	});
	const closed = once(child, "close");
	const url = await listening(child, START_TIMEOUT_MS, () => written.stderr);
	return { child, closed, url, ca: await readFile(join(data, "tls.crt"), "utf8") };
}

/** Waits for the streams too, so that the last lines of the log are there. Kills a server that goes on, or the tests would wait forever. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
	const late = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
	const closed = once(child, "close");
	child.kill(signal);
	await closed;
	clearTimeout(late);
	return child.exitCode;
}
