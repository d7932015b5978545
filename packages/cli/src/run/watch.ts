import { setTimeout as sleep } from "node:timers/promises";
import type { Io } from "../io/io.ts";
import { type Ended, type Program, type RunningProgram, startProgram } from "./program.ts";
import { catchSignals } from "./signals.ts";

/** Watch over a running program. */
export interface Watch {
	/** The program as it would start now; undefined while that is unknown. */
	check(): Promise<Program | undefined>;
	/** Milliseconds between two checks. */
	readonly interval_ms: number;
	/** Milliseconds without further change before a restart: a person who changes one secret often changes the next. */
	readonly settle_ms: number;
	/** Milliseconds from SIGTERM to SIGKILL. */
	readonly kill_after_ms: number;
	/** Reports a restart. */
	restarts(): Promise<void>;
}

/** Checks after which a continuing change counts as settled. */
const MAX_SETTLING = 10;

/** Signals that end the watch. SIGHUP, which makes many programs read their settings again, does so only once the program is being ended. */
const TELLS_TO_END: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT", "SIGQUIT"];

/**
 * Runs a program to its end, and restarts it whenever its environment has changed, until a signal ends the watch.
 * @returns the end of the program, by itself or by a signal to this process
 * @throws Failure as `startProgram` does
 */
export async function runWatched(io: Io, first: Program, watch: Watch): Promise<Ended> {
	let [isTold, isEnding] = [false, false];
	using _ = catchSignals(io, (signal) => {
		isTold ||= TELLS_TO_END.includes(signal) || (isEnding && signal === "SIGHUP");
	});
	for (let program = first; ; isEnding = false) {
		const running = await startProgram(io, program);
		const ended = new AbortController();
		const change = awaitChange(watch, program, ended.signal);
		const next = await Promise.race([change, running.ended.then(() => undefined)]).finally(() => ended.abort());
		if (next === undefined || isTold) return running.ended;
		isEnding = true;
		await watch.restarts();
		await end(running, watch.kill_after_ms);
		if (isTold) return running.ended;
		program = next;
	}
}

async function end(running: RunningProgram, kill_after_ms: number): Promise<void> {
	running.kill("SIGTERM");
	const late = setTimeout(() => running.kill("SIGKILL"), kill_after_ms);
	const { written } = await running.ended.finally(() => clearTimeout(late));
	await written;
}

/** Waits for a program that differs from the running one; undefined when that one has ended. */
async function awaitChange(watch: Watch, program: Program, ended: AbortSignal): Promise<Program | undefined> {
	while (await pause(watch.interval_ms, ended)) {
		let found = await watch.check();
		if (found === undefined || isSame(found, program)) continue;
		for (let checks = 0; checks < MAX_SETTLING && (await pause(watch.settle_ms, ended)); checks++) {
			const again = await watch.check();
			if (again === undefined || isSame(again, found)) break;
			found = again;
		}
		if (!ended.aborted && !isSame(found, program)) return found;
	}
	return undefined;
}

/** Waits a tenth more or less, so that many watches started together do not ask together. @returns whether the program still runs */
async function pause(ms: number, ended: AbortSignal): Promise<boolean> {
	await sleep(ms * (0.9 + Math.random() / 5), undefined, { signal: ended }).catch(() => undefined);
	return !ended.aborted;
}

function isSame(a: Program, b: Program): boolean {
	const names = Object.keys(a.env);
	return names.length === Object.keys(b.env).length && names.every((name) => a.env[name] === b.env[name]);
}
