import { createLog, type Log, type LogLevel } from "../log.ts";
import { createTestSystem } from "./system.ts";

/** A log that keeps its lines in memory. */
export interface TestLog {
	log: Log;
	lines: string[];
	/** The lines, parsed. */
	entries(): Record<string, unknown>[];
}

/** Makes an empty log. */
export function createTestLog(minimum: LogLevel = "debug"): TestLog {
	const lines: string[] = [];
	return {
		log: createLog(minimum, createTestSystem(), (line) => lines.push(line)),
		lines,
		entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
	};
}
