/* The sources of this repository, as the tests of its structure read them. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Folder of the repository. */
export const root = resolve(import.meta.dirname, "../..");

function* sources(folder: string): Generator<string> {
	for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
		const path = join(folder, entry.name);
		if (entry.isDirectory() && !["node_modules", "vectors", "fixtures"].includes(entry.name)) yield* sources(path);
		else if (entry.isFile() && entry.name.endsWith(".ts")) yield path;
	}
}

/** Paths of all sources, from the root. */
export const files = ["packages", "plugins", "scripts", "test"].flatMap((folder) => [...sources(folder)]);
/** Reads a file by its path from the root. */
export const read = (file: string) => readFileSync(join(root, file), "utf8");
/** Tells whether a file is a test, or serves only tests. */
export const isTest = (file: string) =>
	/\.test\.ts$|\/(test|store\/contract\/)/.test(file) || /^(test|scripts)\//.test(file);

/** Lists what a file imports, at its start or later. */
export function importsOf(file: string): string[] {
	return [...read(file).matchAll(/(?:^|\n)\s*(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"|\bimport\("([^"]+)"\)/g)].map(
		(match) => match[1] ?? match[2] ?? "",
	);
}
