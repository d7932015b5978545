import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Target } from "./target.ts";

const fileOf = (name: string) => fileURLToPath(new URL(`vectors/${name}.json`, import.meta.url));

/** Reads the inputs that a search found and kept: text where possible, else `base64:` and bytes. */
export function readCorpus(name: string): Buffer[] {
	const file = fileOf(name);
	if (!existsSync(file)) return [];
	const { inputs } = JSON.parse(readFileSync(file, "utf8")) as { inputs: string[] };
	return inputs.map((text) => (text.startsWith("base64:") ? Buffer.from(text.slice(7), "base64") : Buffer.from(text)));
}

/** Returns the seeds of a target, and the inputs that were kept. */
export function inputsOf(name: string, { seeds }: Pick<Target, "seeds">): Buffer[] {
	return [...seeds.map((seed) => Buffer.from(seed)), ...readCorpus(name)];
}

/** Keeps inputs with the seed of the search that found them. */
export function writeCorpus(name: string, seed: number, runs: number, inputs: readonly Buffer[]): void {
	const texts = inputs.map((input) => {
		const text = input.toString();
		return Buffer.from(text).equals(input) && !text.startsWith("base64:") ? text : `base64:${input.toString("base64")}`;
	});
	writeFileSync(fileOf(name), `${JSON.stringify({ seed, runs, inputs: texts }, undefined, "\t")}\n`);
}
