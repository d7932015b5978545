import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { createInstrumenter } from "istanbul-lib-instrument";

/** Counters of one source: the runs of each statement, function and branch. */
interface FileCoverage {
	s: Record<string, number>;
	f: Record<string, number>;
	b: Record<string, number[]>;
}

const OWN_SOURCE = /\/(?:packages\/\w[\w-]*\/src|plugins\/\w+)\/(?!.*\.test\.ts$).*\.ts$/;

/** Makes every source of the repository that is imported from now on count what it runs. */
export function instrumentImports(): void {
	const instrumenter = createInstrumenter({ esModules: true, compact: true, coverageVariable: "__coverage__" });
	registerHooks({
		load(url, context, next) {
			if (!url.startsWith("file:") || !OWN_SOURCE.test(url)) return next(url, context);
			const path = fileURLToPath(url);
			const source = stripTypeScriptTypes(readFileSync(path, "utf8"));
			return { format: "module", source: instrumenter.instrumentSync(source, path), shortCircuit: true };
		},
	});
}

function countersOf(source: string): FileCoverage {
	const { __coverage__: all = {} } = globalThis as { __coverage__?: Record<string, FileCoverage> };
	const found = all[fileURLToPath(new URL(`../../${source}`, import.meta.url))];
	if (found === undefined) throw new Error(`${source} is not loaded: name the file of the parser`);
	return found;
}

/** Tells whether a run reached new code. */
export interface Coverage {
	/** Forgets the counts since the last run. */
	reset(): void;
	/** Counts and notes the features (a counter, and its runs in powers of two) of this run that no run before had. */
	news(): number;
	/** The features of this run, each as a number. */
	features(): number[];
	/** Number of features found so far, and of counters. */
	found(): { features: number; counters: number };
}

/** Reads the counters of loaded sources. @throws Error for a source that is not loaded: it would not guide the search */
export function openCoverage(sources: readonly string[]): Coverage {
	const tables = sources
		.map(countersOf)
		.flatMap(({ s, f, b }) => [s, f, ...Object.values(b)] as Record<string, number>[])
		.map((table) => ({ table, keys: Object.keys(table) }));
	const counters = tables.reduce((sum, { keys }) => sum + keys.length, 0);
	const seen = new Uint32Array(counters);
	const bucketOf = (count: number) => 1 << Math.min(31, Math.floor(Math.log2(count)));
	function* counted(): Generator<[index: number, bucket: number]> {
		let index = 0;
		for (const { table, keys } of tables) {
			for (const key of keys) {
				const count = table[key] ?? 0;
				if (count > 0) yield [index, bucketOf(count)];
				index++;
			}
		}
	}
	let features = 0;
	return {
		reset() {
			for (const { table, keys } of tables) for (const key of keys) table[key] = 0;
		},
		news() {
			let news = 0;
			for (const [index, bucket] of counted()) {
				if (((seen[index] ?? 0) & bucket) !== 0) continue;
				seen[index] = (seen[index] ?? 0) | bucket;
				news++;
			}
			features += news;
			return news;
		},
		features: () => [...counted()].map(([index, bucket]) => index * 32 + Math.log2(bucket >>> 0)),
		found: () => ({ features, counters }),
	};
}
