import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { readCorpus, writeCorpus } from "../../test/fuzz/corpus.ts";
import type { Costly } from "../../test/fuzz/cost.ts";
import { loadTarget, TARGETS } from "../../test/fuzz/targets.ts";
import { instrumentImports } from "./coverage.ts";
import { search } from "./search.ts";

/*
 * `npm run fuzz -- [--only json,query] [--seconds 60] [--seed 1] [--keep]`: searches inputs that break the parsers' promises, target by
 * target. With --keep it writes the smallest inputs that reach everything into test/fuzz/vectors, where the tests run them.
 */
const { values } = parseArgs({
	options: {
		only: { type: "string" },
		seconds: { type: "string", default: "60" },
		seed: { type: "string", default: "1" },
		keep: { type: "boolean", default: false },
	},
});
const names = values.only?.split(",") ?? TARGETS.map(({ name }) => name);
const seed = Number(values.seed);
const seconds = Number(values.seconds);
const MAX_REPORTED = 5;

instrumentImports();
for (const name of names) {
	const target = await loadTarget(name);
	const { runs, features, counters, corpus, findings } = await search(target, seed, seconds, readCorpus(name));
	process.stdout.write(
		`${name}: ${runs} runs, ${features} features of ${counters} counters, ${corpus.length} inputs\n`,
	);
	for (const { input, problem } of findings) report(problem.split("\n", 1)[0] ?? "", input);
	const costly = await measure(name, corpus);
	for (const { input, bytes, milliseconds } of costly.slice(0, MAX_REPORTED))
		report(`${bytes} bytes grown from this take ${milliseconds.toFixed(0)} ms`, input);
	if (values.keep) writeCorpus(name, seed, runs, corpus);
}

function report(problem: string, input: Uint8Array): void {
	process.exitCode = 1;
	process.stdout.write(`  ${problem}\n  ${JSON.stringify(Buffer.from(input).toString("latin1").slice(0, 200))}\n`);
}

function measure(name: string, inputs: readonly Buffer[]): Promise<Costly[]> {
	const thread = new Worker(new URL("./cost-thread.ts", import.meta.url), { workerData: { name, inputs } });
	return new Promise((resolve, reject) => thread.once("message", resolve).once("error", reject));
}
