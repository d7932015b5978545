import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Machine } from "../bench/report.ts";
import { renderPage } from "./page.ts";
import type { Run } from "./result.ts";

const FOLDER = fileURLToPath(new URL("../../bench/", import.meta.url));
const RESULTS = `${FOLDER}results/`;

/** A siege as kept on disk. */
export interface Kept {
	/** ISO 8601 UTC. */
	readonly started_at: string;
	readonly description: string;
	readonly machine: Omit<Machine, "wrk">;
	/** Runs by attack; two at once are one. */
	readonly attacks: Readonly<Record<string, readonly Run[]>>;
	/** Memory after each of several equal attacks on one server, MB. */
	readonly memory: Readonly<Record<string, readonly number[]>>;
}

/** Reads the siege kept under these words, if there is one. */
export function readKept(description: string): Kept | undefined {
	const ending = `-siege-${slugOf(description)}.json`;
	const name = existsSync(RESULTS) ? readdirSync(RESULTS).find((one) => one.endsWith(ending)) : undefined;
	return name === undefined ? undefined : (JSON.parse(readFileSync(RESULTS + name, "utf8")) as Kept);
}

/** Keeps a siege in `bench/results`, whole or not, and rewrites the page. Returns the file's path from the repository. */
export function keep(kept: Kept): string {
	mkdirSync(RESULTS, { recursive: true });
	const name = `${kept.started_at.slice(0, 10)}-siege-${slugOf(kept.description)}.json`;
	// A siege takes long: an interrupted write must not lose its results.
	writeFileSync(`${RESULTS}${name}.new`, `${JSON.stringify(kept, undefined, "\t")}\n`);
	renameSync(`${RESULTS}${name}.new`, RESULTS + name);
	writeFileSync(`${FOLDER}SIEGE.md`, renderPage(kept));
	return `bench/results/${name}`;
}

function slugOf(description: string): string {
	return description
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.replace(/^-|-$/g, "");
}
