import type { Command } from "commander";

/** A command that does something, in contrast to a group of them. */
export interface Leaf {
	/** What is typed after `svc`, such as `secret`, `set`. */
	readonly words: readonly string[];
	readonly command: Command;
}

/** Every command of the tree that does something, in the order of the help; hidden ones are left out. */
export function leavesOf(command: Command, words: readonly string[] = []): Leaf[] {
	const inner = namedCommands(command);
	if (inner.length === 0) return [{ words, command }];
	return inner.flatMap((child) => leavesOf(child, [...words, child.name()]));
}

/** The commands that the help of a group lists, but for `help` itself. */
export function namedCommands(group: Command): Command[] {
	return group
		.createHelp()
		.visibleCommands(group)
		.filter((command) => command.name() !== "help");
}

/** Whether a command asks a server, in contrast to one that works on this machine alone. */
export function asksServer(command: Command): boolean {
	return command.options.some(({ long }) => long === "--address");
}
