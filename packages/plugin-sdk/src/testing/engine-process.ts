import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { MAX_RESPONSE_BYTES, splitLines } from "@svc/protocol";

/** A system user, by numbers. */
export interface User {
	readonly uid: number;
	readonly gid: number;
}

/** The way to start an engine. */
export interface Launch {
	/** The program and its arguments. */
	command: readonly string[];
	/** All variables of its environment. */
	env: Readonly<Record<string, string>>;
	/** Its working directory. */
	cwd: string | undefined;
	/** The user that it runs as; by default this process's own. */
	user: User | undefined;
	/** Its standard error: to this process's own, or nowhere. */
	stderr: "inherit" | "ignore";
}

/** The end of a process; `failure` is the system's code when it could not be started, such as EACCES. */
interface Ending {
	code: number | null;
	signal: NodeJS.Signals | null;
	failure: string | undefined;
}

/** One process of an engine. */
export interface EngineProcess {
	/** Whole lines that it wrote and nobody has taken yet. */
	readonly lines: Buffer[];
	/** True if it wrote something after the last line feed. */
	readonly isMidLine: boolean;
	/** True if it wrote a longer line than allowed; nothing more is read. */
	readonly isOverlong: boolean;
	readonly ending: Ending | undefined;
	write(line: Uint8Array): void;
	/** Ends its standard input. */
	endInput(): void;
	/** Resolves when the condition becomes true, or after this many milliseconds. */
	until(condition: () => boolean, timeout_ms: number): Promise<void>;
	kill(): void;
}

/** Milliseconds to read the remaining output after its end, if a program that it started keeps the output open. */
const LAST_WORDS_MS = 500;

/** Starts an engine. A failed start counts as an ending. */
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
	// A write to an ended process: its ending reports it.
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
