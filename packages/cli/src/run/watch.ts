import { setTimeout as sleep } from "node:timers/promises";
import type { Io } from "../io.ts";
import { type Ended, type Program, type RunningProgram, startProgram } from "./program.ts";
import { hearSignals } from "./signals.ts";

/** How a program is kept up to date. */
export interface Watch {
	/** The program as it would be started now; undefined while that is not known. */
	look(): Promise<Program | undefined>;
	/** Milliseconds between two looks. */
	readonly interval_ms: number;
	/** Milliseconds from SIGTERM to SIGKILL. */
	readonly kill_after_ms: number;
	/** Says that it is started anew. */
	restarts(): Promise<void>;
}

/** Milliseconds in which nothing more may change before a restart: a person who changes one secret often changes the next. */
const SETTLE_MS = 1500;
/** Looks after which a change that goes on is taken as it is. */
const MAX_SETTLING = 10;

/** What tells this process to end. SIGHUP, which to many a program means to read its settings anew, does so only once the program is being ended. */
const TELLS_TO_END: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT", "SIGQUIT"];

/**
 * Runs a program to its end, and starts it anew whenever its environment has changed, until this process is told to end.
 * @returns what it ended with by itself, or by a signal that this process was told
 * @throws Failure as `startProgram` does
 */
export async function runWatched(io: Io, first: Program, watch: Watch): Promise<Ended> {
	let [isTold, isEnding] = [false, false];
	using _ = hearSignals(io, (signal) => {
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

/** The program that differs from the one that runs; undefined when that one has ended. */
async function awaitChange(watch: Watch, program: Program, ended: AbortSignal): Promise<Program | undefined> {
	while (await pause(watch.interval_ms, ended)) {
		let found = await watch.look();
		if (found === undefined || isSame(found, program)) continue;
		for (let looks = 0; looks < MAX_SETTLING && (await pause(SETTLE_MS, ended)); looks++) {
			const again = await watch.look();
			if (again === undefined || isSame(again, found)) break;
			found = again;
		}
		if (!ended.aborted && !isSame(found, program)) return found;
	}
	return undefined;
}

/** A tenth more or less, so that many that were started at once do not ask at once. @returns whether the program still runs */
async function pause(ms: number, ended: AbortSignal): Promise<boolean> {
	await sleep(ms * (0.9 + Math.random() / 5), undefined, { signal: ended }).catch(() => undefined);
	return !ended.aborted;
}

function isSame(a: Program, b: Program): boolean {
	const names = Object.keys(a.env);
	return names.length === Object.keys(b.env).length && names.every((name) => a.env[name] === b.env[name]);
}
