import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Unit } from "./groups.ts";
import type { Timed } from "./times.ts";

const CACHE = import.meta.resolve("./compile-cache.mjs");
const COUNTER = import.meta.resolve("./processor-time.mjs");

/** The processor times of the processes of a run. */
export interface ProcessorTimes {
	/** Flags for Node with which a test process counts its time, and takes what Node made of the sources at an earlier run. */
	readonly flags: readonly string[];
	/** Returns the times of the files, and of loading those that share a process; none where the system does not count them. */
	files(): Timed[];
}

/**
 * Counts the processor time of test files: that of their processes, and of the programs that they start and wait for.
 * @param units the processes of the run
 * @param root the repository, with a slash at its end: names of files are relative to it
 * @param folder a temporary one
 */
export function processorTimes(units: readonly Unit[], root: string, folder: string): ProcessorTimes {
	const preload = join(folder, "preload.mjs");
	const results = join(folder, "processor-times");
	mkdirSync(results);
	writeFileSync(
		preload,
		`import ${JSON.stringify(CACHE)};\nimport { countIn } from ${JSON.stringify(COUNTER)};\ncountIn(${JSON.stringify(results)});\n`,
	);
	const names = new Map(units.map((unit) => [unit.entry, nameOf(unit, root)]));
	return {
		flags: ["--import", preload],
		files: () =>
			readdirSync(results).flatMap((name) => {
				const [entry, ...files] = JSON.parse(readFileSync(join(results, name), "utf8")) as Timed[];
				const first = names.get(entry?.name ?? "");
				// A program that a test forks counts, too: its time is in that of the test.
				return entry === undefined || first === undefined ? [] : [{ ...entry, name: first }, ...files];
			}),
	};
}

/** Names what a process does before the first of its files runs. */
function nameOf({ entry, files }: Unit, root: string): string {
	const file = (files.length > 1 ? dirname(files[0] ?? "") : entry).replace(root, "");
	return files.length > 1 ? `${file}: loading ${files.length} files` : file;
}
