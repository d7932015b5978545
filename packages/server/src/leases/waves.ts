import { setTimeout as wait } from "node:timers/promises";
import type { Gate } from "../gate.ts";

/** Longest rest between two waves, in milliseconds, however slow the disk is. */
const LONGEST_REST_MS = 100;

/**
 * Lets `width` tasks run at once and the next as many after a rest that is as long as they took: whoever else needs what the tasks need
 * has it for half of the time, on a quick machine and on a slow one. Tasks begin in the order they came.
 */
export function createWaves(width: number): Gate {
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
