import { finished } from "node:stream/promises";
import { spec, type TestEvent } from "node:test/reporters";

/** Entries in each list of the slowest. */
const SLOWEST = 15;

/** Options of a report. */
export interface ReportOptions {
	/** Number of test files in the run. */
	readonly files: number;
	/** The repository, with a slash at its end: names of files are relative to it. */
	readonly folder: string;
	/** Shows each test that passes, too. */
	readonly isVerbose: boolean;
	write(text: string): void;
}

interface Timed {
	readonly name: string;
	readonly ms: number;
}

/**
 * Reports on a run: a line for each file that ends, and each failure; then what was skipped and why, the slowest files and tests, and
 * the runner's summary with the stacks of the failures.
 * @returns whether every test passed
 */
export async function report(events: AsyncIterable<TestEvent>, options: ReportOptions): Promise<boolean> {
	const { write } = options;
	const runner = new spec();
	runner.setEncoding("utf8").on("data", write);
	const files: Timed[] = [];
	const tests: Timed[] = [];
	const skipped = new Map<string, number>();
	let hasPassed = false;
	let hasEnded = false;
	for await (const { type, data } of events) {
		if (type === "test:complete" && data.nesting === 0) {
			const file = (data.entryFile ?? data.file ?? "").replace(options.folder, "");
			const ms = data.details.duration_ms;
			if (data.name === data.file)
				write(`${files.push({ name: file, ms })} of ${options.files}  ${seconds(ms)}  ${file}\n`);
			else tests.push({ name: `${file}: ${data.name}`, ms });
		}
		if (type === "test:pass" && typeof data.skip === "string")
			skipped.set(data.skip, (skipped.get(data.skip) ?? 0) + 1);
		if (type === "test:summary" && data.file === undefined) hasPassed = data.success;
		if (type === "test:diagnostic" && data.file === undefined && !hasEnded) {
			hasEnded = true;
			write(closing(files, tests, skipped));
		}
		if (options.isVerbose || (type !== "test:start" && type !== "test:pass")) runner.write({ type, data });
	}
	runner.end();
	await finished(runner);
	return hasPassed;
}

function closing(files: Timed[], tests: Timed[], skipped: ReadonlyMap<string, number>): string {
	const reasons = [...skipped].map(([reason, count]) => `${count} skipped: ${reason}\n`);
	return ["\n", ...reasons, "\nslowest files\n", ...slowest(files), "\nslowest tests\n", ...slowest(tests), "\n"].join(
		"",
	);
}

function slowest(all: Timed[]): string[] {
	const sorted = all.toSorted((one, other) => other.ms - one.ms);
	return sorted.slice(0, SLOWEST).map(({ name, ms }) => `${seconds(ms)}  ${name}\n`);
}

function seconds(ms: number): string {
	return `${(ms / 1000).toFixed(1)} s`.padStart(7);
}
