/** Characters that a terminal obeys or a reader cannot see. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Makes a received text fit for one line: invisible characters spelled out, cut off after this many bytes of UTF-8. */
export function printable(text: string, maxBytes: number): string {
	const spelled = text.trim().replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
	const bytes = Buffer.from(spelled);
	if (bytes.length <= maxBytes) return spelled;
	// A stream's decoder omits the character that was cut in two.
	return `${new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true })}…`;
}
