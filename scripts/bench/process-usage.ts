import { readFileSync } from "node:fs";

/** Linux counts processor time in these on every machine. */
const TICK_US = 10_000;

/** Position of utime in /proc/PID/stat after the name, which may hold spaces; stime follows it. */
const UTIME = 11;

/** Processor time used by a process so far, in microseconds. */
export interface ProcessorTime {
	/** All threads. */
	readonly allUs: number;
	/** The main thread, where JavaScript runs. */
	readonly mainUs: number;
}

/** Reads the processor time of a process. Its resolution is 10 ms. */
export function processorTime(pid: number): ProcessorTime {
	return { allUs: used(`/proc/${pid}/stat`), mainUs: used(`/proc/${pid}/task/${pid}/stat`) };
}

/** Resident memory of a process in MB of 10^6 bytes. */
export function residentMb(pid: number): number {
	const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
	return (Number(kib) * 1024) / 1e6;
}

function used(file: string): number {
	const stat = readFileSync(file, "utf8");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return (Number(fields[UTIME]) + Number(fields[UTIME + 1])) * TICK_US;
}
