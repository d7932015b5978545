import type { Target } from "../../test/fuzz/target.ts";
import { openCoverage } from "./coverage.ts";
import { createMutator } from "./mutate.ts";

/** An input for which a property does not hold. */
interface Finding {
	input: Buffer;
	problem: string;
}

/** Result of a search. */
export interface Found {
	runs: number;
	features: number;
	counters: number;
	/** Inputs that together reach everything that was found, smallest first. */
	corpus: Buffer[];
	findings: Finding[];
}

/** Most bytes of an input that is mutated further, and findings after which a search ends. */
const MAX_MUTATED = 4096;
const MAX_FINDINGS = 5;
/** Most inputs and bytes kept for a target. */
const MAX_KEPT = 200;
const MAX_KEPT_BYTES = 64 * 1024;

/** Searches inputs for which a target's property does not hold, guided by the coverage of its sources. */
export async function search(target: Target, seed: number, seconds: number, known: readonly Buffer[]): Promise<Found> {
	const coverage = openCoverage(target.sources);
	const { pick, mutate } = createMutator(seed, target.tokens, Math.min(target.max_bytes, MAX_MUTATED));
	const corpus: Buffer[] = [];
	const findings: Finding[] = [];
	let runs = 0;
	const run = async (input: Buffer): Promise<boolean> => {
		runs++;
		coverage.reset();
		const problem = await problemOf(target, input);
		if (problem !== undefined) findings.push({ input: await minimize(target, input), problem });
		return coverage.news() > 0;
	};
	for (const input of [...target.seeds.map((one) => Buffer.from(one)), ...known]) {
		await run(input);
		corpus.push(input);
	}
	const end = performance.now() + seconds * 1000;
	while (performance.now() < end && findings.length < MAX_FINDINGS) {
		const [input = Buffer.alloc(0), other = Buffer.alloc(0)] = [
			corpus[pick(corpus.length)],
			corpus[pick(corpus.length)],
		];
		const made = mutate(input, other);
		if (await run(made)) corpus.push(made);
	}
	return { runs, ...coverage.found(), corpus: await reduce(target, corpus), findings };
}

async function problemOf(target: Target, input: Buffer): Promise<string | undefined> {
	try {
		await target.check(input);
		return undefined;
	} catch (error) {
		return String(error);
	}
}

/** The smallest input that still fails: takes out halves, quarters, … as long as it does. */
async function minimize(target: Target, input: Buffer): Promise<Buffer> {
	let best = input;
	for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
		for (let start = 0; start < best.length; ) {
			const less = Buffer.concat([best.subarray(0, start), best.subarray(start + size)]);
			if ((await problemOf(target, less)) === undefined) start += size;
			else best = less;
		}
	}
	return best;
}

/** The smallest inputs that reach all that the whole corpus reaches. */
async function reduce(target: Target, corpus: readonly Buffer[]): Promise<Buffer[]> {
	const coverage = openCoverage(target.sources);
	const seen = new Set<number>();
	const kept: Buffer[] = [];
	let bytes = 0;
	for (const input of corpus.toSorted((one, other) => one.length - other.length)) {
		coverage.reset();
		await problemOf(target, input);
		const news = coverage.features().filter((feature) => !seen.has(feature));
		if (news.length === 0 || kept.length === MAX_KEPT || bytes + input.length > MAX_KEPT_BYTES) continue;
		for (const feature of news) seen.add(feature);
		kept.push(input);
		bytes += input.length;
	}
	return kept;
}
