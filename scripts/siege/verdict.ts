import { attackNamed } from "../../test/siege/attacks.ts";
import { median } from "../bench/rounds.ts";
import { isNoisy, type Leftover, type Run } from "./result.ts";

/** Required bounds. Design: §13. */
const BOUNDS = { p99Ms: 50, p99ToIdle: 3, memoryMb: 256, memoryOfTwoMb: 400, turnMs: 50, endMs: 10_000 } as const;

/** Descriptors and sockets that may come and go by themselves. */
const SPARE = 2;

/** A figure, and whether it is within its bound. */
export interface Judged {
	readonly value: number;
	readonly holds: boolean;
}

/** Judgement on all runs of an attack: medians, and every violation of what has to hold each time. */
export interface Verdict {
	readonly runs: number;
	/** Those of them that count only when there is no other. */
	readonly noisy: number;
	readonly idle: { readonly kept: number; readonly fresh: number };
	readonly kept: Judged;
	readonly fresh: Judged;
	/** Megabytes above idle. */
	readonly memory: Judged;
	/** Undefined when the server does not say. Not part of `holds`: on a busy machine it includes the work of others. */
	readonly turn: Judged | undefined;
	/** Connections that the server should have cut off, and leftovers after the attackers have gone. */
	readonly held: readonly string[];
	readonly left: readonly string[];
	/** Milliseconds of the slowest end. */
	readonly end: Judged;
	/** Requests of the ordinary client that failed. */
	readonly failures: number;
	readonly holds: boolean;
}

/** Judges the runs of one attack, or of two at once. */
export function judge(attacks: readonly string[], runs: readonly Run[]): Verdict {
	const quiet = runs.filter((run) => !isNoisy(run));
	const timed = quiet.length === 0 ? runs : quiet;
	const over = (figure: (run: Run) => number) => median(timed.map(figure));
	const idle = { kept: over((run) => run.idle.kept_p99_ms), fresh: over((run) => run.idle.fresh_p99_ms) };
	const judged = (value: number, most: number): Judged => ({ value, holds: value <= most });
	const p99 = (value: number, idleMs: number) => judged(value, Math.max(BOUNDS.p99ToIdle * idleMs, BOUNDS.p99Ms));
	const kept = p99(
		over((run) => run.attacked.kept_p99_ms),
		idle.kept,
	);
	const fresh = p99(
		over((run) => run.attacked.fresh_p99_ms),
		idle.fresh,
	);
	const memory = judged(
		over((run) => run.memory_peak_mb - run.memory_idle_mb),
		attacks.length > 1 ? BOUNDS.memoryOfTwoMb : BOUNDS.memoryMb,
	);
	const turns = timed.map((run) => run.longest_turn_ms).filter((turn) => turn !== null);
	const isCutOff = attacks.every((name) => attackNamed(name).isCutOff);
	const held = isCutOff ? distinct(runs.flatMap((run) => namesOf(run, run.held, ["descriptors", "established"]))) : [];
	const left = distinct(runs.flatMap((run) => namesOf(run, run.left)));
	const longest = runs.map(({ end }) => (end === null || end.code !== 0 ? Number.POSITIVE_INFINITY : end.ms));
	const end = judged(Math.max(...longest), BOUNDS.endMs);
	return {
		runs: runs.length,
		noisy: runs.length - quiet.length,
		...{ idle, kept, fresh, memory, held, left, end },
		turn: turns.length === 0 ? undefined : judged(median(turns), BOUNDS.turnMs),
		failures: runs.reduce((sum, { attacked }) => sum + attacked.failures, 0),
		holds: [kept, fresh, memory, end].every(({ holds }) => holds) && held.length + left.length === 0,
	};
}

/** Names what exceeds its bound. */
function namesOf(
	{ was_killed }: Run,
	leftover: Leftover | null,
	which: readonly (keyof Leftover)[] = ["descriptors", "established", "close_wait", "fin_wait2", "limits"],
): string[] {
	if (leftover === null) return [was_killed ? "the server had to be killed" : "the server did not answer"];
	return which.flatMap((name) => {
		const found = leftover[name];
		if (typeof found !== "number") {
			return Object.entries(found).flatMap(([limit, used]) => (used > SPARE ? [`${used} of ${limit}`] : []));
		}
		const spare = name === "close_wait" || name === "fin_wait2" ? 0 : SPARE;
		return found > spare ? [`${found} ${name.toUpperCase()}`] : [];
	});
}

function distinct(words: readonly string[]): string[] {
	return [...new Set(words)];
}
