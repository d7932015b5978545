/** What a terminal obeys or a reader does not see. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A received text that can be shown on one line: what is invisible in it spelled out, cut off after so many bytes of UTF-8. */
export function printable(text: string, maxBytes: number): string {
	const spelled = text.trim().replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
	const bytes = Buffer.from(spelled);
	if (bytes.length <= maxBytes) return spelled;
	// A stream's decoder leaves out the character that was cut in two.
	return `${new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true })}…`;
}
