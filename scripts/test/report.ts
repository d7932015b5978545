import { finished } from "node:stream/promises";
import { spec, type TestEvent } from "node:test/reporters";
import type { Unit } from "./groups.ts";
import { type Timed, Times } from "./times.ts";

/** Entries in each list of the slowest. */
const SLOWEST = 15;

/** Options of a report. */
export interface ReportOptions {
	/** The processes of the run. */
	readonly units: readonly Unit[];
	/** The repository, with a slash at its end: names of files are relative to it. */
	readonly folder: string;
	/** Shows each test that passes, too. */
	readonly isVerbose: boolean;
	/** Returns the processor times of the files when all have ended. */
	processorTimes(): Timed[];
	write(text: string): void;
}

/**
 * Reports on a run: a line for each file that ends, and each failure; then what was skipped and why, the slowest files and tests, and
 * the runner's summary with the stacks of the failures.
 * @returns whether every test passed
 */
export async function report(events: AsyncIterable<TestEvent>, options: ReportOptions): Promise<boolean> {
	const { write, processorTimes } = options;
	const runner = new spec();
	runner.setEncoding("utf8").on("data", write);
	const times = new Times(options.units, options.folder);
	const count = options.units.reduce((sum, { files }) => sum + files.length, 0);
	const skipped = new Map<string, number>();
	let hasPassed = false;
	let hasEnded = false;
	for await (const { type, data } of events) {
		const file = type === "test:complete" ? times.complete(data) : undefined;
		if (file !== undefined) write(`${times.files.length} of ${count}  ${seconds(file.ms)}  ${file.name}\n`);
		if (type === "test:pass" && typeof data.skip === "string")
			skipped.set(data.skip, (skipped.get(data.skip) ?? 0) + 1);
		if (type === "test:summary" && data.file === undefined) hasPassed = data.success;
		if (type === "test:diagnostic" && data.file === undefined && !hasEnded) {
			hasEnded = true;
			write(closing(times, processorTimes(), skipped));
		}
		if (options.isVerbose || (type !== "test:start" && type !== "test:pass")) runner.write({ type, data });
	}
	runner.end();
	await finished(runner);
	return hasPassed;
}

function closing({ files, tests }: Times, processor: Timed[], skipped: ReadonlyMap<string, number>): string {
	const reasons = [...skipped].map(([reason, count]) => `${count} skipped: ${reason}\n`);
	const all = seconds(processor.reduce((sum, { ms }) => sum + ms, 0)).trim();
	const lists = [
		["slowest files", files],
		["slowest tests", tests],
		[`most processor time, of ${all} in all`, processor],
	] as const;
	const most = lists
		.filter(([, list]) => list.length > 0)
		.flatMap(([title, list]) => [`\n${title}\n`, ...slowest(list)]);
	return ["\n", ...reasons, ...most, "\n"].join("");
}

function slowest(all: Timed[]): string[] {
	const sorted = all.toSorted((one, other) => other.ms - one.ms);
	return sorted.slice(0, SLOWEST).map(({ name, ms }) => `${seconds(ms)}  ${name}\n`);
}

function seconds(ms: number): string {
	return `${(ms / 1000).toFixed(1)} s`.padStart(7);
}
