import { setTimeout as wait } from "node:timers/promises";

/** Longest rest between two batches, in milliseconds, however slow the disk is. */
const LONGEST_REST_MS = 100;

/** Runs a task in the next batch that has room. */
export type Batches = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Runs `width` tasks at once, rests for as long as they took, then runs the next: others have half of the time for the resource that the
 * tasks use, on a quick machine and on a slow one. Tasks begin in the order they came.
 */
export function createBatches(width: number): Batches {
	const waiting: (() => Promise<unknown>)[] = [];
	let isRunning = false;
	const run = async () => {
		isRunning = true;
		while (waiting.length > 0) {
			const begun = performance.now();
			await Promise.allSettled(waiting.splice(0, width).map((task) => task()));
			await wait(Math.min(performance.now() - begun, LONGEST_REST_MS));
		}
		isRunning = false;
	};
	return (task) =>
		new Promise((resolve, reject) => {
			waiting.push(() => task().then(resolve, reject));
			if (!isRunning) void run();
		});
}
