const WIDE = /\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Emoji_Presentation}/u;

const ASCII = /^[\x20-\x7e]*$/;

let graphemes: Intl.Segmenter | undefined;

/** Columns of a terminal that a text takes. */
export function displayWidth(text: string): number {
	if (ASCII.test(text)) return text.length;
	// Loading its tables takes milliseconds, which most commands save.
	graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
	let width = 0;
	for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
	return width;
}

/** The text in lines of at most this width. A word stays whole, even if it is wider. */
export function wrap(text: string, width: number): string[] {
	if (displayWidth(text) <= width) return [text];
	const lines: string[] = [];
	let line = "";
	for (const word of text.split(" ")) {
		const longer = line === "" ? word : `${line} ${word}`;
		if (line !== "" && displayWidth(longer) > width) {
			lines.push(line);
			line = word;
		} else line = longer;
	}
	return [...lines, line];
}

/** The text in one line of at most this width, cut at its end. */
export function shorten(text: string, width: number): [string] {
	if (displayWidth(text) <= width) return [text];
	let kept = "";
	for (const character of text) {
		if (displayWidth(kept + character) >= width) break;
		kept += character;
	}
	return [`${kept}…`];
}
