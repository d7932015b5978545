/**
 * A line that gives a variable of a POSIX shell exactly this value, and that the shell hands on to what it starts.
 * @param name that is a variable's name
 * @param value without U+0000, which no variable can hold
 */
export function shellLine(name: string, value: string): string {
	return `export ${name}='${value.replaceAll("'", "'\\''")}'\n`;
}
