import type { Argument, Command, Option } from "commander";
import { namedCommands } from "../command-line/command-tree.ts";
import { ENVIRONMENTS } from "../input/realm-scope.ts";

/** Possible values of a word: fixed ones, or one of `@files`, `@realms`, `@keys`, `@machines`, `@engines`; `@any` when nobody can guess it. */
type Values = readonly string[];

/** A word that you can type, and its summary. */
interface Word {
	readonly name: string;
	readonly summary: string;
}

/** Words that can follow `svc` and some commands. */
export interface Position {
	/** The commands so far, such as `secret set`; empty at the beginning. */
	readonly at: string;
	readonly commands: readonly Word[];
	/** Long names; an option that takes a value has `values`. */
	readonly options: readonly (Word & { readonly values?: Values })[];
	/** By position. */
	readonly arguments: readonly Values[];
}

/** Values of a placeholder such as `<slug>`, where its option or argument lists none itself. */
const PLACEHOLDERS: Readonly<Record<string, Values>> = {
	slug: ["@realms"],
	realm: ["@realms"],
	key: ["@keys"],
	keys: ["@keys"],
	machine: ["@machines"],
	env: ENVIRONMENTS,
	from: ENVIRONMENTS,
	to: ENVIRONMENTS,
	type: ["@engines"],
	engine: ["@engines"],
	role: ["admin", "member", "viewer"],
	file: ["@files"],
	folder: ["@files"],
	directory: ["@files"],
	output: ["@files"],
};

/** Options whose placeholder means something other than in an argument. */
const OPTIONS: Readonly<Record<string, Values>> = { "--type": ["@any"], "--role": ["@any"] };

/** Every position in the tree, the root first, without hidden commands. */
export function positionsOf(command: Command, at: readonly string[] = []): Position[] {
	const inner = namedCommands(command);
	const position = {
		at: at.join(" "),
		commands: inner.map((child) => ({ name: child.name(), summary: child.summary() || child.description() })),
		options: command.createHelp().visibleOptions(command).flatMap(optionWord),
		arguments: command.registeredArguments.map(argumentValues),
	};
	return [position, ...inner.flatMap((child) => positionsOf(child, [...at, child.name()]))];
}

function optionWord(option: Option): Position["options"] {
	const { long, description, argChoices, flags } = option;
	if (typeof long !== "string") return [];
	const [, placeholder] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
	if (placeholder === undefined) return [{ name: long, summary: description }];
	const values = argChoices ?? OPTIONS[long] ?? PLACEHOLDERS[placeholder] ?? ["@any"];
	return [{ name: long, summary: description, values }];
}

function argumentValues(argument: Argument): Values {
	return argument.argChoices ?? PLACEHOLDERS[argument.name()] ?? ["@any"];
}

/** Possible values of an option, everywhere or, where commands differ, at one position. */
export interface OptionValues {
	readonly option: string;
	/** Absent when it is the same at all positions. */
	readonly at?: string;
	readonly values: Values;
}

/** The values of all options that take one; those for one position come first. */
export function optionValuesOf(positions: readonly Position[]): OptionValues[] {
	const all = positions.flatMap(({ at, options }) =>
		options.flatMap(({ name, values }) => (values === undefined ? [] : [{ option: name, at, values }])),
	);
	const byOption = Map.groupBy(all, ({ option }) => option);
	const everywhere = [...byOption].flatMap(([option, [first, ...others]]) =>
		first !== undefined && others.every(({ values }) => String(values) === String(first.values))
			? [{ option, values: first.values }]
			: [],
	);
	const known = new Set(everywhere.map(({ option }) => option));
	return [...all.filter(({ option }) => !known.has(option)), ...everywhere];
}
