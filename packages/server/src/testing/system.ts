import { randomBytes } from "node:crypto";
import type { System } from "../system.ts";

/** A system whose clock stands still until it is moved, and whose ids are counted. */
export interface TestSystem extends System {
	/** Moves the clock. */
	advance(milliseconds: number): void;
}

/** Makes a system. Its ids are in the order in which they were made. @param start of its clock, ISO 8601 */
export function createTestSystem(start = "2030-01-01T00:00:00.000Z"): TestSystem {
	let now = Date.parse(start);
	let ids = 0;
	return {
		now: () => new Date(now),
		randomBytes: (size) => randomBytes(size),
		uuid: () => `01980000-0000-7000-8000-${(++ids).toString(16).padStart(12, "0")}`,
		advance(milliseconds) {
			now += milliseconds;
		},
	};
}
