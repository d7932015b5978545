import { type Command, CommanderError, Option } from "commander";
import type { Io } from "../io/io.ts";

/** Options of every command. */
interface SharedOptions {
	readonly json?: boolean;
	readonly wide?: boolean;
	readonly utc?: boolean;
	readonly address?: string;
	readonly cacert?: string;
	readonly fingerprint?: string;
}

/** Context in which a command runs. */
export interface Context<Options = object> {
	readonly io: Io;
	readonly options: Options & SharedOptions;
}

/** Code of the CommanderError that carries a command's exit code out of commander. */
export const ENDED = "svc.ended";

/** One command: its usage, its help and its action. */
export interface CommandSpec<Options> {
	/** Name and arguments, such as `delete <key>`. */
	readonly usage: string;
	readonly summary: string;
	/** Further paragraphs of the help. */
	readonly details?: string;
	readonly options?: readonly Option[];
	readonly examples: readonly string[];
	/** True when it prints a table: then it takes --wide and --utc. */
	readonly isList?: boolean;
	readonly isDefault?: boolean;
	/** Hides it from the help: it is for programs. */
	readonly isHidden?: boolean;
	/** True when the words are another program with its arguments: options after the first word are that program's. */
	readonly runsProgram?: boolean;
	/** @returns the exit code, when it is not 0 */
	run(context: Context<Options>, ...words: string[]): Promise<number> | Promise<void>;
}

/** A command that works on this machine and asks no server. */
export interface LocalCommand<Options = object> extends CommandSpec<Options> {
	/** Its group, such as `engine`; none for `svc install` and the like. */
	readonly group?: string;
	/** Summary of its group, where the client has no command in it. */
	readonly group_summary?: string;
}

/** Adds a command with the shared options, and examples in its help. */
export function addCommand<Options = object>(parent: Command, io: Io, spec: CommandSpec<Options>): void {
	describeCommand(parent, io, spec, addSharedOptions);
}

/** Adds the executable's own commands, each to its group. @throws Error when there is no such group */
export function addLocalCommands(program: Command, io: Io, commands: readonly LocalCommand[]): void {
	for (const { group, group_summary, ...spec } of commands) {
		const parent = group === undefined ? program : findGroup(program, group, group_summary);
		describeCommand(parent, io, spec, addLocalOptions);
	}
}

function findGroup(program: Command, name: string, summary: string | undefined): Command {
	const found = program.commands.find((command) => command.name() === name);
	if (found !== undefined) return found;
	if (summary === undefined) throw new Error(`there is no group ${name}`);
	return addGroup(program, name, summary);
}

function describeCommand<Options>(
	parent: Command,
	io: Io,
	spec: CommandSpec<Options>,
	addCommonOptions: (command: Command) => void,
): void {
	const { isDefault = false, isHidden = false } = spec;
	const command = parent.command(spec.usage, { isDefault, hidden: isHidden }).summary(spec.summary);
	command.description(spec.details === undefined ? spec.summary : `${spec.summary}\n\n${spec.details}`);
	for (const option of spec.options ?? []) command.addOption(option);
	if (spec.isList === true) addListOptions(command);
	addCommonOptions(command);
	command.addHelpText("after", `\nExamples:\n${spec.examples.map((example) => `  ${example}`).join("\n")}`);
	command.passThroughOptions(spec.runsProgram === true);
	command.action(async function (this: Command) {
		const options = this.optsWithGlobals<Options & SharedOptions>();
		const code = await spec.run({ io, options }, ...this.processedArgs.flat());
		if (typeof code === "number" && code !== 0) throw new CommanderError(code, ENDED, "");
	});
}

/** Adds the options of every command that asks a server. */
export function addSharedOptions(command: Command): void {
	addLocalOptions(command);
	command.option("--address <url>", "server (else SVC_ADDRESS, else the one of the latest login)");
	command.option("--cacert <file>", "PEM certificate of the authority to trust (else SVC_CACERT)");
	command.option(
		"--fingerprint <sha256>",
		"certificate to trust (else SVC_FINGERPRINT, else the one trusted at login)",
	);
}

/** Adds the options that every command takes. */
function addLocalOptions(command: Command): void {
	command.optionsGroup("Common options:");
	command.option("--json", "print one JSON document, and errors as the server's error object");
	command.helpOption("-h, --help", "show this help");
}

/** Adds the options of a command that prints a table. */
function addListOptions(command: Command): void {
	command.option("--wide", "on a terminal: show ids and texts whole, even if lines exceed its width");
	command.option("--utc", "on a terminal: exact times in place of relative ones");
}

/** Adds a command that only groups others. */
export function addGroup(parent: Command, name: string, summary: string): Command {
	return parent.command(name).description(summary).helpOption("-h, --help", "show this help").helpCommand(false);
}

/** An option, as `Command.option` takes it. */
export function option(flags: string, description: string): Option {
	return new Option(flags, description);
}
