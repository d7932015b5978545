import { basename } from "node:path";
import type { Variable } from "./variables.ts";

const SHELLS = new Set(["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"]);

/** The first variable that an argument names as in a shell, `$NAME` or `${NAME}`, when no shell would replace it. */
export function unexpandedName(words: readonly string[], variables: readonly Variable[]): string | undefined {
	if (words.some((word) => SHELLS.has(basename(word)))) return undefined;
	const named = words.flatMap((word) => [...word.matchAll(/\$\{?([A-Za-z_]\w*)/g)].map(([, name]) => name));
	return named.find((name) => variables.some((variable) => variable.name === name));
}
