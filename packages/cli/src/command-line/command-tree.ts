import type { Command } from "commander";

/** A command that does something, as opposed to a group. */
export interface Leaf {
	/** Words typed after `svc`, such as `secret`, `set`. */
	readonly words: readonly string[];
	readonly command: Command;
}

/** Every command of the tree that does something, in the order of the help, without hidden ones. */
export function leavesOf(command: Command, words: readonly string[] = []): Leaf[] {
	const inner = namedCommands(command);
	if (inner.length === 0) return [{ words, command }];
	return inner.flatMap((child) => leavesOf(child, [...words, child.name()]));
}

/** The commands in the help of a group, except `help` itself. */
export function namedCommands(group: Command): Command[] {
	return group
		.createHelp()
		.visibleCommands(group)
		.filter((command) => command.name() !== "help");
}

/** Tells whether a command asks a server, as opposed to working on this machine alone. */
export function asksServer(command: Command): boolean {
	return command.options.some(({ long }) => long === "--address");
}
