import { cpus } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { startProbe } from "../../test/siege/child.ts";
import type { Seen } from "../../test/siege/probe.ts";
import { readBusy } from "../../test/siege/readings.ts";
import { median, quantile } from "../bench/rounds.ts";
import type { Figures } from "./result.ts";

/** Requests per second; new connections stay below the limit of one source. */
const PACE = { keptPerSecond: 50, freshPerSecond: 20 } as const;

/** Address of the ordinary client. */
const SOURCE = "127.77.0.1";

/** The share of the machine that others may take during a window that counts. */
const OTHERS = 1 / 3;

/** Requests of an ordinary client. */
export interface Asking {
	readonly url: string;
	readonly path: string;
	readonly token: string;
	readonly windows: number;
	readonly windowMs: number;
}

/** Lets an ordinary client send requests, and returns its figures. */
export async function watch(asking: Asking): Promise<Figures> {
	const probe = await startProbe({ ...asking, ...PACE, source: SOURCE });
	const [seen, shares] = await Promise.all([Array.fromAsync(probe), sharesOfOthers(asking)]);
	const quiet = seen.filter((_, at) => (shares[at] ?? 0) <= OTHERS);
	return {
		...figuresOf(quiet.length === 0 ? seen : quiet),
		failures: seen.reduce((sum, { failures }) => sum + failures, 0),
		windows: seen.length,
		dropped: seen.length - quiet.length,
	};
}

function figuresOf(seen: readonly Seen[]): Omit<Figures, "failures" | "windows" | "dropped"> {
	const over = (which: "kept" | "fresh", share: number) => median(seen.map((one) => quantile(one[which], share)));
	return {
		kept_p50_ms: over("kept", 0.5),
		kept_p99_ms: over("kept", 0.99),
		fresh_p50_ms: over("fresh", 0.5),
		fresh_p99_ms: over("fresh", 0.99),
	};
}

/** The share of the machine that others took, window by window. */
async function sharesOfOthers({ windows, windowMs }: Pick<Asking, "windows" | "windowMs">): Promise<number[]> {
	const shares: number[] = [];
	const started = performance.now();
	let [before, from] = [readBusy(), started];
	for (let at = 1; at <= windows; at++) {
		await wait(Math.max(0, started + at * windowMs - performance.now()));
		const [after, to] = [readBusy(), performance.now()];
		const othersS = after.allS - before.allS - (after.oursS - before.oursS);
		shares.push(othersS / (cpus().length * ((to - from) / 1000)));
		[before, from] = [after, to];
	}
	return shares;
}
