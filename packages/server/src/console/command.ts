const LINE = Symbol("command line");

/** A command line that a person may paste into a shell. */
export interface Command {
	readonly [LINE]: string;
}

/** Characters that mean nothing to a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Makes a command line from a template; each value becomes one word of it, whatever it holds. */
export function command(parts: TemplateStringsArray, ...values: readonly (string | number)[]): Command {
	const words = values.map((value) => quoted(String(value)));
	return { [LINE]: String.raw({ raw: parts }, ...words) };
}

/** Text of a command line. */
export function lineOf(one: Command): string {
	return one[LINE];
}

/** Joins a command line and further ones, such as an option that is not always there. */
export function joined(first: Command, ...more: readonly Command[]): Command {
	return { [LINE]: [first, ...more].map(lineOf).join(" ") };
}

function quoted(word: string): string {
	return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
