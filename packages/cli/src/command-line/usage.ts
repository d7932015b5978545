import type { Command, CommanderError } from "commander";
import { Failure } from "../failure.ts";
import { leavesOf } from "./command-tree.ts";
import { didYouMean } from "./nearest.ts";

/** Commander's own suggestion, at the end of its message. */
const SUGGESTION = / \(Did you mean (?:one of )?(.+)\?\)$/;

/**
 * Turns commander's error into a failure. Its message repeats no word of the command line that may be a secret.
 * @param argv words of the command line
 */
export function explainUsage({ code, message }: CommanderError, program: Command, argv: readonly string[]): Failure {
	const text = message.replace(/^error: /, "").replaceAll("\n", " ");
	const suggested = SUGGESTION.exec(text)?.[1]?.replaceAll(", ", " or ");
	const alike = code === "commander.excessArguments" ? inGroup(program, argv) : suggestion(code, text, program);
	const question = suggested === undefined ? alike : `did you mean ${suggested}?`;
	const hint = [question, "--help shows how it is used"].filter((part) => part !== undefined).join(" ");
	return new Failure("usage", withoutSecrets(code, text.replace(SUGGESTION, "")), { hint });
}

function withoutSecrets(code: string, text: string): string {
	if (code === "commander.excessArguments") return "there are more words than this command takes";
	if (code === "commander.invalidArgument")
		return text.replace(/ argument '.*' is invalid\. Allowed choices are (.*)\.$/, " takes $1");
	if (code === "commander.unknownOption" && !/^unknown option '(--[a-z][a-z-]*|-[A-Za-z])'/.test(text))
		return "unknown option";
	if (code === "commander.unknownCommand" && !/^unknown command '[a-z][a-z-]*'/.test(text)) return "unknown command";
	return text;
}

/** The commands near a word after a group that is a command itself, such as `audit`: there it counts as an argument. */
function inGroup(program: Command, [first = "", ...words]: readonly string[]): string | undefined {
	const names = program.commands.find((group) => group.name() === first)?.commands.map((command) => command.name());
	return words.map((word) => didYouMean(word, names ?? [])).find((question) => question !== undefined);
}

/** The choices near a wrong value, or the commands whose last word is an unknown first one, as `secret get` for `svc get`. */
function suggestion(code: string, text: string, program: Command): string | undefined {
	const [, value, choices] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/.exec(text) ?? [];
	if (value !== undefined && choices !== undefined) return didYouMean(value, choices.split(", "));
	const word = code === "commander.unknownCommand" ? /'(.*)'/.exec(text)?.[1] : undefined;
	const alike = leavesOf(program).filter(({ words }) => words.at(-1) === word);
	if (alike.length === 0 || alike.length > MAX_ALIKE) return undefined;
	return `did you mean ${alike.map(({ words }) => `\`svc ${words.join(" ")}\``).join(" or ")}?`;
}

/** Most commands worth suggesting for one word: `list` alone says little. */
const MAX_ALIKE = 3;
