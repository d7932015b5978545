import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 5;

// A test may replace the clock.
const now = performance.now.bind(performance);

/** Waits until a condition is met. */
export async function until(isMet: () => Promise<boolean> | boolean): Promise<void> {
	const end = now() + LIMIT_MS;
	while (!(await isMet())) {
		assert.ok(now() < end, `not within ${LIMIT_MS / 1000} s`);
		await sleep(LOOK_EVERY_MS);
	}
}
