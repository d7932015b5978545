import { randomBytes } from "node:crypto";
import type { System } from "../system.ts";

/** A system whose clock moves only on command, and whose ids are counted. */
export interface TestSystem extends System {
	/** Moves the clock, and the uptime with it. */
	advance(milliseconds: number): void;
	/** Sets only the wall clock, as a person or a time server does. */
	setClock(instant: string): void;
	/** Restarts the machine: another boot with an uptime of 0 or, in a container, of its host, in milliseconds. */
	reboot(host_uptime_ms?: number): void;
}

/** Makes a system. Its ids sort in the order of their making. @param start of its clock, ISO 8601 */
export function createTestSystem(start = "2030-01-01T00:00:00.000Z"): TestSystem {
	let now = Date.parse(start);
	let up = 1_000_000;
	let boots = 1;
	let ids = 0;
	return {
		now: () => new Date(now),
		randomBytes: (size) => randomBytes(size),
		uuid: () => `01980000-0000-7000-8000-${(++ids).toString(16).padStart(12, "0")}`,
		uptimeMs: () => up,
		bootId: () => `boot-${boots}`,
		advance(milliseconds) {
			now += milliseconds;
			up += milliseconds;
		},
		setClock(instant) {
			now = Date.parse(instant);
		},
		reboot(host_uptime_ms = 0) {
			boots++;
			up = host_uptime_ms;
		},
	};
}
