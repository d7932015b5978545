// Readers of files name lines and keys in what they report, and never a value, because values are secret.

/** One secret of a file. */
export interface ImportEntry {
	readonly key: string;
	/** Empty when the file gives none. */
	readonly value: string;
	/** Line of the key, counted from 1. */
	readonly line: number;
}

/** A mistake in a file, with nothing of its values. */
export interface Problem {
	readonly line: number;
	/** Absent where no key was read. */
	readonly key?: string;
	readonly problem: string;
}

/** An entry that is left out on purpose. */
export interface Skipped {
	readonly key: string;
	readonly line: number;
	readonly reason: string;
}

/** Result of reading a file. */
export interface ImportResult {
	readonly entries: readonly ImportEntry[];
	readonly problems: readonly Problem[];
	readonly skipped: readonly Skipped[];
	/** Sentences about the file, for a person. */
	readonly remarks: readonly string[];
}

/** A result that is being built. */
export interface Draft extends ImportResult {
	readonly entries: ImportEntry[];
	readonly problems: Problem[];
	readonly skipped: Skipped[];
	readonly remarks: string[];
}

/** Starts an empty result. */
export function startResult(): Draft {
	return { entries: [], problems: [], skipped: [], remarks: [] };
}

/** Starts a result with everything but the entries of another one. */
export function startFrom({ problems, skipped, remarks }: ImportResult): Draft {
	return { entries: [], problems: [...problems], skipped: [...skipped], remarks: [...remarks] };
}

/** Adds a mistake. */
export function addProblem(draft: Draft, line: number, problem: string, key?: string): void {
	draft.problems.push(key === undefined ? { line, problem } : { line, key, problem });
}

/** Describes a problem in a sentence, such as `line 3, KEY: the value is empty`. */
export function describeProblem({ line, key, problem }: Problem): string {
	return `line ${line}${key === undefined ? "" : `, ${key}`}: ${problem}`;
}

/** Most bytes of a value. Design: §7.2 */
const MAX_VALUE_BYTES = 256 * 1024;

const MAX_KEY_BYTES = 255;

/** Choices about what a file may hold. */
export interface CheckOptions {
	/** Leaves entries without a value out instead of refusing them. */
	readonly skipEmpty: boolean;
	/** Leaves out everything but what is below this path, and the path itself. */
	readonly under?: string | undefined;
}

/** Checks everything that can be checked without a server: keys, values, and that no key occurs twice. */
export function checkResult(result: ImportResult, { skipEmpty, under }: CheckOptions): ImportResult {
	const checked = startFrom(result);
	const lines = new Map<string, number>();
	for (const entry of result.entries) {
		const key = under === undefined ? entry.key : keyBelow(entry.key, under);
		if (key === undefined) {
			checked.skipped.push({ key: entry.key, line: entry.line, reason: "is not below the path of --under" });
			continue;
		}
		const earlier = lines.get(key);
		const problem = problemOf({ ...entry, key }, earlier, skipEmpty);
		lines.set(key, earlier ?? entry.line);
		if (problem !== undefined) checked.problems.push({ line: entry.line, key, problem });
		else if (entry.value === "") checked.skipped.push({ key, line: entry.line, reason: "has no value" });
		else checked.entries.push({ ...entry, key });
	}
	checked.problems.sort((a, b) => a.line - b.line);
	return checked;
}

function keyBelow(key: string, under: string): string | undefined {
	const folder = `${under.replace(/^\/+|\/+$/g, "")}/`;
	return key.startsWith(folder) ? key.slice(folder.length) : undefined;
}

function problemOf({ key, value }: ImportEntry, earlier: number | undefined, skipEmpty: boolean): string | undefined {
	if (earlier !== undefined) return `the same key is already on line ${earlier}`;
	const isKey = /^[A-Za-z0-9_./-]+$/.test(key) && !key.split("/").some((part) => part === "." || part === "..");
	if (!isKey) return "a key has letters, digits, _ . - and /, and no . or .. between slashes";
	if (key.length > MAX_KEY_BYTES) return `a key has at most ${MAX_KEY_BYTES} characters`;
	if (value === "" && !skipEmpty) return "the value is empty, and the server stores no empty values";
	if (!value.isWellFormed()) return "the value is not Unicode text: half of a surrogate pair is missing";
	return Buffer.byteLength(value) > MAX_VALUE_BYTES ? "the value is over 256 KiB" : undefined;
}
