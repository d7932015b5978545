/**
 * A line that gives a variable of a POSIX shell exactly this value, and that the shell hands on to what it starts.
 * @param name that is a variable's name
 * @param value without U+0000, which no variable can hold
 */
export function shellLine(name: string, value: string): string {
	return `export ${name}=${quoted(value)}\n`;
}

/** A text as one word of a POSIX shell; as it is where that is the same. */
export function shellWord(text: string): string {
	return /^[\w./:@%+,=-]+$/.test(text) ? text : quoted(text);
}

function quoted(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
