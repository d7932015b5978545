import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { MAX_RESPONSE_BYTES, splitLines } from "@svc/protocol";

/** A user of the system, by numbers. */
export interface User {
	readonly uid: number;
	readonly gid: number;
}

/** How an engine is started. */
export interface Launch {
	/** The program and its arguments. */
	command: readonly string[];
	/** All variables that it gets. */
	env: Readonly<Record<string, string>>;
	/** Its working directory. */
	cwd: string | undefined;
	/** Whom it runs as; this process's own user when there is none. */
	user: User | undefined;
	/** Where its standard error goes: to this process's own, or nowhere. */
	stderr: "inherit" | "ignore";
}

/** How a process ended; `failure` is the system's code when it could not be started, such as EACCES. */
interface Ending {
	code: number | null;
	signal: NodeJS.Signals | null;
	failure: string | undefined;
}

/** One process of an engine. */
export interface EngineProcess {
	/** Whole lines that it wrote and that nobody has taken yet. */
	readonly lines: Buffer[];
	/** Whether it wrote something after the last line feed. */
	readonly isMidLine: boolean;
	/** Whether it wrote a longer line than it may; nothing is read any more. */
	readonly isOverlong: boolean;
	readonly ending: Ending | undefined;
	write(line: Uint8Array): void;
	/** Ends its standard input. */
	endInput(): void;
	/** Resolves once the condition holds, or after so many milliseconds. */
	until(condition: () => boolean, timeout_ms: number): Promise<void>;
	kill(): void;
}

/** What it had written is read for so long after its end, if something that it started keeps its output open. */
const LAST_WORDS_MS = 500;

/** Starts an engine. A start that fails is an ending. */
export function startProcess({ command: [file = "", ...args], env, cwd, user, stderr }: Launch): EngineProcess {
	const child = spawn(file, args, { cwd, env: { ...env }, ...user, stdio: ["pipe", "pipe", stderr] });
	const changes = new EventEmitter();
	const state = { lines: [] as Buffer[], isMidLine: false, isOverlong: false, ending: undefined as Ending | undefined };
	const change = (changed: Partial<typeof state>) => {
		Object.assign(state, changed);
		changes.emit("change");
	};
	const end = (code: number | null, signal: NodeJS.Signals | null, failure?: string) => {
		if (state.ending === undefined) change({ ending: { code, signal, failure } });
	};
	const split = splitLines(MAX_RESPONSE_BYTES, {
		onLine: (line) => state.lines.push(line),
		onOverflow: () => change({ isOverlong: true }),
	});
	child.stdout?.on("data", (chunk: Buffer) => {
		split(chunk);
		change({ isMidLine: chunk.at(-1) !== LINE_FEED });
	});
	// Written to a process that is gone: its ending says so.
	child.stdin?.on("error", () => {});
	child.on("error", (error: NodeJS.ErrnoException) => end(null, null, error.code ?? error.name));
	child.on("close", end);
	child.on("exit", (code, signal) => setTimeout(end, LAST_WORDS_MS, code, signal).unref());

	return Object.assign(state, {
		write: (line: Uint8Array) => void child.stdin?.write(line),
		endInput: () => void child.stdin?.end(),
		async until(condition: () => boolean, timeout_ms: number) {
			const signal = AbortSignal.timeout(timeout_ms);
			while (!condition()) {
				const isLate = await once(changes, "change", { signal }).then(
					() => false,
					() => true,
				);
				if (isLate) return;
			}
		},
		kill: () => void child.kill("SIGKILL"),
	});
}

const LINE_FEED = 0x0a;
