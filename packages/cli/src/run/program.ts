import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { hearSignals } from "./signals.ts";

/** Another program, and what it is to be given. */
export interface Program {
	/** A path, or a name that is looked for in PATH. */
	readonly command: string;
	readonly args: readonly string[];
	/** Its whole environment. */
	readonly env: Readonly<Record<string, string>>;
}

/** A program that was started. */
interface RunningProgram {
	/** What it ended with: its own exit code, or 128 and the number of the signal that ended it. */
	readonly ended: Promise<number>;
	/** Sends it a signal; nothing happens when it has ended. */
	kill(signal: NodeJS.Signals): void;
}

/**
 * Runs a program to its end, without a shell and with this process's standard streams. Signals to this process are passed on to it.
 * @returns its own exit code, or 128 and the number of the signal that ended it
 * @throws Failure noSuchCommand or notExecutable when it cannot be started
 */
export async function runProgram(io: Io, program: Program): Promise<number> {
	let running: RunningProgram | undefined;
	using _ = hearSignals(io, (signal) => running?.kill(signal));
	running = await startProgram(program);
	// Awaited here, because signals are heard as long as this function lasts.
	return await running.ended;
}

/** Starts a program. @throws Failure noSuchCommand or notExecutable when it cannot be started */
async function startProgram({ command, args, env }: Program): Promise<RunningProgram> {
	const child = spawn(command, args, { env, stdio: "inherit" });
	const ended = exitCode(child);
	await once(child, "spawn").catch((error: NodeJS.ErrnoException) => {
		throw explainStart(command, error);
	});
	return { ended, kill: (signal) => void child.kill(signal) };
}

function exitCode(child: ChildProcess): Promise<number> {
	return new Promise((resolve) => {
		child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
	});
}

function explainStart(command: string, error: NodeJS.ErrnoException): Failure {
	if (error.code === "ENOENT") {
		return new Failure("noSuchCommand", `${command} is not found`, {
			hint: command.includes("/") ? "or the interpreter in its first line is not" : "it is looked for in PATH",
			cause: error,
		});
	}
	return new Failure("notExecutable", `${command} cannot be run (${error.code ?? error.name})`, {
		hint: error.code === "EACCES" ? "is it a file with `chmod +x`?" : undefined,
		cause: error,
	});
}
