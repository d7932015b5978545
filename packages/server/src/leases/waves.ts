import { setTimeout as wait } from "node:timers/promises";
import type { Gate } from "../gate.ts";

/** Longest rest between two waves, in milliseconds, however slow the disk is. */
const LONGEST_REST_MS = 100;

/**
 * Runs `width` tasks at once, rests for as long as they took, then runs the next: others have half of the time for the resource that the
 * tasks use, on a quick machine and on a slow one. Tasks begin in the order they came.
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
