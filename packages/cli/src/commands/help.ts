import type { Command } from "commander";
import { namedCommands } from "../command-line/command-tree.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { Failure } from "../failure.ts";

/** Adds `svc help secret set`, the same as `svc secret set --help`. Commander's own stops at the first word. */
export function addHelpCommand(program: Command): void {
	program.helpCommand(false);
	program
		.command("help [command...]")
		.summary("show the help of a command")
		.action((words: string[]) => findCommand(program, words).help());
}

function hintFor(word: string, group: Command): string {
	const question = didYouMean(
		word,
		namedCommands(group).map((command) => command.name()),
	);
	return [question, "`svc --help` lists the commands"].filter((part) => part !== undefined).join(" ");
}

/** @throws Failure usage, which repeats nothing: a word may be a secret */
function findCommand(program: Command, words: readonly string[]): Command {
	let found = program;
	for (const word of words) {
		const next = namedCommands(found).find((command) => command.name() === word);
		if (next === undefined) throw new Failure("usage", "there is no such command", { hint: hintFor(word, found) });
		found = next;
	}
	return found;
}
