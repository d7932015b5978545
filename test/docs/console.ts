/** A command of a page. */
export interface Command {
	/** The command without its prompt; a line that ends with `\` continues on the next. */
	readonly text: string;
	/** Output that the page shows; `…` stands for anything. */
	readonly output: readonly string[];
	/** Line of the page, from 1. */
	readonly line: number;
}

/** Returns the commands of a page: the lines with a prompt in its `console` fences, in order. */
export function commandsOf(markdown: string): Command[] {
	const commands: { text: string; output: string[]; line: number }[] = [];
	let indent: string | undefined;
	let goesOn = false;
	for (const [index, written] of markdown.split("\n").entries()) {
		const line = indent === undefined ? written : written.slice(indent.length);
		const fence = /^( *)```(\S*)/.exec(indent === undefined ? written : line);
		if (fence) [indent, goesOn] = [indent === undefined && fence[2] === "console" ? fence[1] : undefined, false];
		else if (indent !== undefined) {
			const last = commands.at(-1);
			if (goesOn && last) last.text += `\n${line}`;
			else if (line.startsWith("$ ")) commands.push({ text: line.slice(2), output: [], line: index + 1 });
			else last?.output.push(line);
			goesOn = line.endsWith("\\") && (goesOn || line.startsWith("$ "));
		}
	}
	return commands;
}

/** Returns the first line that the page shows and the command did not write there, or undefined. The command may write more before and after. */
export function differenceOf({ output }: Command, written: string): string | undefined {
	const lines = written.split(/\r?\n/).map((line) => line.trimEnd().replace(/ {2,}/g, "  "));
	const text = `${lines.filter((line) => line !== "").join("\n")}\n`;
	let pattern = "^(?:.*\n)*?";
	for (const shown of output) {
		pattern += patternOf(shown.trimEnd());
		if (!new RegExp(pattern).test(text)) return shown;
	}
	return undefined;
}

/** `…` alone stands for any lines. Consecutive blanks between columns count as one: widths depend on the values. */
function patternOf(shown: string): string {
	if (shown === "") return "";
	if (shown.trim() === "…") return "(?:.*\n)*?";
	const parts = shown.replace(/ {2,}/g, "  ").split("…");
	return `${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}\n`;
}
