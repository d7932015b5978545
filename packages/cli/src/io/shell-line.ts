/**
 * A line that exports a variable with exactly this value in a POSIX shell.
 * @param name of the variable, valid
 * @param value without U+0000, which no variable can hold
 */
export function shellLine(name: string, value: string): string {
	return `export ${name}=${quoted(value)}\n`;
}

/** A text as one word of a POSIX shell; unquoted where that means the same. */
export function shellWord(text: string): string {
	return /^[\w./:@%+,=-]+$/.test(text) ? text : quoted(text);
}

function quoted(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
