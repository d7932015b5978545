import { readDotenv } from "../../dotenv.ts";
import { type Dialect, readLines } from "../cursor.ts";
import { checkResult, type Draft, type ImportResult, startResult } from "../import-result.ts";
import { compose } from "./compose.ts";
import { docker } from "./docker.ts";
import { readNodeDotenv } from "./node.ts";
import { shell } from "./shell.ts";
import { systemd } from "./systemd.ts";

type Reader = (draft: Draft, text: string) => void;

const reader =
	(dialect: Dialect): Reader =>
	(draft, text) =>
		readLines(draft, text, dialect);

/** Readers of `.env` files, by the program that they read like. */
export const DIALECTS: Readonly<Record<string, Reader>> = {
	node: readNodeDotenv,
	compose: reader(compose),
	docker: reader(docker),
	shell: reader(shell),
	systemd: reader(systemd),
};

/** Dialects whose files have the quotes of ours, so that a file may be meant for either. */
const LIKE_OURS = ["node", "compose", "shell"];

/** A program that reads some lines differently, or cannot read them. */
interface Difference {
	readonly dialect: string;
	readonly lines: readonly number[];
}

/** Lines on which programs get something other than svc, by dialect. */
export function differencesOf(text: string): Difference[] {
	const ours = valuesOf(readWhole(readDotenv, text));
	return LIKE_OURS.flatMap((dialect) => {
		const result = readWhole(DIALECTS[dialect] ?? readDotenv, text);
		const theirs = valuesOf(result);
		const lines = new Set(result.problems.map(({ line }) => line));
		for (const [key, { value, line }] of ours) if (theirs.get(key)?.value !== value) lines.add(line);
		for (const [key, { line }] of theirs) if (!ours.has(key)) lines.add(line);
		return lines.size === 0 ? [] : [{ dialect, lines: [...lines].sort((a, b) => a - b) }];
	});
}

/** Dialects in which a file has entries and no mistake. */
export function dialectsOf(text: string): string[] {
	return Object.keys(DIALECTS).filter((name) => {
		const result = readWhole(DIALECTS[name] ?? readDotenv, text);
		return result.entries.length > 0 && checkResult(result, { skipEmpty: true }).problems.length === 0;
	});
}

function readWhole(read: Reader, text: string): ImportResult {
	const draft = startResult();
	read(draft, text);
	return draft;
}

function valuesOf({ entries }: ImportResult) {
	return new Map(entries.map((entry) => [entry.key, entry]));
}
