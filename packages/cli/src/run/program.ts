import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { canMask } from "./mask.ts";
import { copyMasked } from "./output.ts";
import { openPipe } from "./pipe.ts";
import { catchSignals } from "./signals.ts";

/** Another program and its surroundings. */
export interface Program {
	/** A path, or a name to look up in PATH. */
	readonly command: string;
	readonly args: readonly string[];
	/** Its whole environment. */
	readonly env: Readonly<Record<string, string>>;
	/** Values to mask in its output. Without any it has this process's own streams, and with them the terminal. */
	readonly masked?: readonly string[];
}

/** A program's end. */
export interface Ended {
	/** Its own exit code, or 128 and the number of the signal that ended it. */
	readonly code: number;
	/** Settles when all its output is out, which its reader may delay. @throws the system's error when it cannot be written */
	readonly written: Promise<unknown>;
}

/** A program that was started. */
export interface RunningProgram {
	readonly ended: Promise<Ended>;
	/** Sends it a signal; does nothing when it has ended. */
	kill(signal: NodeJS.Signals): void;
}

/**
 * Runs a program to its end, without a shell. Passes signals to this process on to it.
 * @throws Failure noSuchCommand or notExecutable when it cannot be started
 */
export async function runProgram(io: Io, program: Program): Promise<Ended> {
	return (await startProgram(io, program)).ended;
}

/** Waits until all of a program's output is out. @returns its exit code @throws the system's error when it cannot be written */
export async function codeOf({ code, written }: Ended): Promise<number> {
	await written;
	return code;
}

/** Starts a program; passes signals to this process on to it until it ends. @throws Failure noSuchCommand or notExecutable when it cannot be started */
export async function startProgram(io: Io, { command, args, env, masked = [] }: Program): Promise<RunningProgram> {
	// Undone when it cannot be started.
	using lent = new DisposableStack();
	const pipes = canMask(masked) ? [lent.use(openPipe()), lent.use(openPipe())] : undefined;
	const output = pipes?.map((pipe) => pipe?.fd ?? "pipe") ?? ["inherit", "inherit"];
	// Before the program exists, so that no signal is missed: listeners run only after this function has gone on.
	const caught = lent.use(
		catchSignals(io, (signal, isEverywhere) => {
			if (!isEverywhere) child.kill(signal);
		}),
	);
	const child = await spawnProgram(command, args, { env, stdio: ["inherit", ...output] });
	lent.move();
	const exited = exitCode(child).finally(() => caught[Symbol.dispose]());
	for (const pipe of pipes ?? []) pipe?.closeWriting();
	const [stdout, stderr] = [pipes?.[0]?.source ?? child.stdout, pipes?.[1]?.source ?? child.stderr];
	const copies = [stdout && copyMasked(stdout, io.stdout, masked), stderr && copyMasked(stderr, io.stderr, masked)];
	const copied = Promise.all(copies.map((copy) => copy?.done));
	// It may fail long before the program ends, and is awaited only then.
	copied.catch(() => undefined);
	const ended = exited.then((code) => {
		const leftOvers = new DisposableStack();
		for (const copy of copies) leftOvers.use(copy?.giveUpLeftOver());
		const written = copied.finally(() => leftOvers.dispose());
		written.catch(() => undefined);
		return { code, written };
	});
	return { ended, kill: (signal) => void child.kill(signal) };
}

/** Node throws some of the system's errors and emits others. */
async function spawnProgram(command: string, args: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
	try {
		const child = spawn(command, args, options);
		await once(child, "spawn");
		return child;
	} catch (error) {
		throw explainStart(command, error as NodeJS.ErrnoException);
	}
}

function exitCode(child: ChildProcess): Promise<number> {
	return new Promise((resolve) => {
		child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
	});
}

function explainStart(command: string, error: NodeJS.ErrnoException): Failure {
	if (error.code === "ENOENT") {
		return new Failure("noSuchCommand", `${command} is not found`, {
			hint: command.includes("/") ? "or the interpreter in its first line is not" : "svc looks for it in PATH",
			cause: error,
		});
	}
	return new Failure("notExecutable", `${command} cannot be run (${error.code ?? error.name})`, {
		hint: START_HINTS[error.code ?? ""] ?? "does it start without svc?",
		cause: error,
	});
}

const START_HINTS: Readonly<Record<string, string>> = {
	EACCES: "is it a file with `chmod +x`?",
	E2BIG: "its variables and words are too much for the system: --only and --except choose among the secrets",
	ERR_INVALID_ARG_VALUE: "its name is empty, or a word or a variable of it holds a NUL character, which none can",
	EAGAIN: "this user has as many processes as it may: end some, then try again",
	ENOMEM: "the machine has no memory left for it: end something, then try again",
	EMFILE: "svc has as many open files as it may: `ulimit -n` shows and raises that",
};
