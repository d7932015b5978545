import { type Command, Option } from "commander";
import type { Io } from "./io.ts";

/** Options that every command may be given. */
interface SharedOptions {
	readonly json?: boolean;
	readonly address?: string;
	readonly cacert?: string;
	readonly fingerprint?: string;
}

/** What a command works with. */
export interface Context<Options = object> {
	readonly io: Io;
	readonly options: Options & SharedOptions;
}

/** One command: how it is called, what its help says, and what it does. */
export interface CommandSpec<Options> {
	/** Name and arguments, such as `delete <key>`. */
	readonly usage: string;
	readonly summary: string;
	/** Further paragraphs of the help. */
	readonly details?: string;
	readonly options?: readonly Option[];
	readonly examples: readonly string[];
	readonly isDefault?: boolean;
	run(context: Context<Options>, ...words: string[]): Promise<void>;
}

/** A command of the executable that asks no server: it works on this machine. */
export interface LocalCommand<Options = object> extends CommandSpec<Options> {
	/** The group that it belongs to, such as `engine`; none for `svc install` and the like. */
	readonly group?: string;
}

/** Adds a command with the shared options, and examples in its help. */
export function addCommand<Options = object>(parent: Command, io: Io, spec: CommandSpec<Options>): void {
	describeCommand(parent, io, spec, addSharedOptions);
}

/** Adds the executable's own commands, each to its group. @throws Error when there is no such group */
export function addLocalCommands(program: Command, io: Io, commands: readonly LocalCommand[]): void {
	for (const { group, ...spec } of commands) {
		const parent = group === undefined ? program : program.commands.find((command) => command.name() === group);
		if (parent === undefined) throw new Error(`there is no group ${group}`);
		describeCommand(parent, io, spec, addLocalOptions);
	}
}

function describeCommand<Options>(
	parent: Command,
	io: Io,
	spec: CommandSpec<Options>,
	addCommonOptions: (command: Command) => void,
): void {
	const command = parent.command(spec.usage, { isDefault: spec.isDefault === true }).summary(spec.summary);
	command.description(spec.details === undefined ? spec.summary : `${spec.summary}\n\n${spec.details}`);
	for (const option of spec.options ?? []) command.addOption(option);
	addCommonOptions(command);
	command.addHelpText("after", `\nExamples:\n${spec.examples.map((example) => `  ${example}`).join("\n")}`);
	command.action(function (this: Command) {
		return spec.run({ io, options: this.optsWithGlobals<Options & SharedOptions>() }, ...this.processedArgs);
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

/** Adds a command that only holds others. */
export function addGroup(parent: Command, name: string, summary: string): Command {
	return parent.command(name).description(summary).helpOption("-h, --help", "show this help").helpCommand(false);
}

/** An option, as `Command.option` takes it. */
export function option(flags: string, description: string): Option {
	return new Option(flags, description);
}
