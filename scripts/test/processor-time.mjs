/*
 * Counts the processor time of a test process and of the programs that it started and waited for. JavaScript, so that nothing of it is left to be
 * stripped.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { isMainThread } from "node:worker_threads";

/** Milliseconds of the unit of /proc. */
const TICK_MS = 10;

/** Starts of the files, in order, each with the time spent until then. */
const starts = [];

/**
 * Begins to count for this file, and ends to count for the one before.
 * @param {string} name
 */
export function countFor(name) {
	starts.push({ name, ms: spent() });
}

/**
 * Writes the times when the process exits: JSON, a list of names with their milliseconds. The first is that of the program, until a file begins.
 * Writes nothing where the system does not count.
 * @param {string} folder for the file, which is named after the process
 */
export function countIn(folder) {
	if (process.platform !== "linux" || !isMainThread) return;
	starts.push({ name: process.argv[1], ms: 0 });
	process.on("exit", () => {
		const ends = [...starts.slice(1).map(({ ms }) => ms), spent()];
		const times = starts.map(({ name, ms }, index) => ({ name, ms: (ends[index] ?? 0) - ms }));
		writeFileSync(`${folder}/${process.pid}.json`, JSON.stringify(times));
	});
}

/** @returns {number} milliseconds of this process and its children that have ended */
function spent() {
	if (process.platform !== "linux") return 0;
	const { user, system } = process.cpuUsage();
	// The name of the program, in parentheses, may contain blanks. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
	const fields = readFileSync("/proc/self/stat", "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
	return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}
