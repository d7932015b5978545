import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

/** Loads the files of a process, in a test that the others wait for. */
const LOADER = import.meta.resolve("./load-files.mjs");

/** A process of a run, and the test files that it runs: one after another if they share it. */
export interface Unit {
	readonly entry: string;
	readonly files: readonly string[];
}

/** Files in one process. More gain little, and would keep one processor busy while the others wait. */
const MOST = 16;

/** Marks a file that others in its process would disturb, or that would disturb them: clocks replaced for a whole file, and measurements. */
const ALONE = /^mock\.|\b(?:memoryUsage|getActiveResourcesInfo|setFlagsFromString|chdir|exitCode)\b/m;

/**
 * Lets the test files of a folder share a process: a start, and the same modules loaded again, take half a second each time.
 * Those that are the only one in their folder share one with their like.
 * @param files test files, with absolute paths
 * @param root the repository
 * @param folder a temporary one, for the programs that load several files
 * @returns the processes of a run, in the order of their first files
 */
export function shareProcesses(files: readonly string[], root: string, folder: string): Unit[] {
	const sharing = (file: string) => !/\.long\.test\.ts$/.test(file) && !ALONE.test(readFileSync(file, "utf8"));
	const parts = [...Map.groupBy(files.filter(sharing), dirname).values()].flatMap(inParts);
	const rest = parts.filter((part) => part.length === 1).flat();
	const shared = [...parts, ...inParts(rest)].filter((part) => part.length > 1);
	const partOf = new Map(shared.flatMap((part) => part.map((file) => [file, part])));
	return files.flatMap((file) => {
		const part = partOf.get(file);
		if (part === undefined) return { entry: file, files: [file] };
		return part[0] === file ? { entry: programOf(part, root, folder), files: part } : [];
	});
}

/** @returns equal parts */
function inParts(files: string[]): string[][] {
	const parts = Math.ceil(files.length / MOST);
	const size = Math.ceil(files.length / parts);
	return Array.from({ length: parts }, (_, part) => files.slice(part * size, (part + 1) * size));
}

/** Writes a program that loads the files. */
function programOf(files: readonly string[], root: string, folder: string): string {
	const entry = join(folder, `${relative(root, files[0] ?? "").replaceAll("/", "-")}.mjs`);
	const args = [files.map((file) => pathToFileURL(file).href), root].map((arg) => JSON.stringify(arg));
	writeFileSync(entry, `import { loadFiles } from ${JSON.stringify(LOADER)};\nawait loadFiles(${args.join(", ")});\n`);
	return entry;
}
