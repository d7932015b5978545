import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asserts that something is so, and still is a moment later: only time shows that nothing happens.
 * @param ms length of the moment
 */
export async function stays(what: string, holds: () => Promise<boolean> | boolean, ms = 50): Promise<void> {
	const end = performance.now() + ms;
	do {
		assert.ok(await holds(), what);
		await sleep(10);
	} while (performance.now() < end);
	assert.ok(await holds(), what);
}
