/** What a secret is shown as. */
export const MASK = "********";

/** Texts that are shorter would mask half of every line of a log. */
const SHORTEST = 4;

/** What a terminal, or a reader of the log, would act on instead of showing it. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Replaces known secrets. */
export interface Mask {
	(text: string): string;
	/** Characters of the longest text that is masked. */
	readonly longest: number;
}

/**
 * Makes a function that masks secrets in a text: each as a whole, line by line (a key in PEM is written over many lines), and as it stands
 * in JSON.
 * @param shortest characters of a secret that is masked as a whole
 */
export function createMask(secrets: readonly string[], shortest: number = SHORTEST): Mask {
	const pieces = secrets.flatMap((secret) => [JSON.stringify(secret).slice(1, -1), ...secret.split(/\r?\n/)]);
	const texts = [
		...secrets.filter(({ length }) => length >= shortest),
		...pieces.filter(({ length }) => length >= SHORTEST),
	].sort((a, b) => b.length - a.length);
	const pattern = new RegExp([...new Set(texts)].map((text) => RegExp.escape(text)).join("|"), "g");
	const mask = (text: string) => (texts.length === 0 ? text : text.replace(pattern, MASK));
	return Object.assign(mask, { longest: texts[0]?.length ?? 0 });
}

/** Writes control characters, and others that cannot be seen, as `\u{1b}`. */
export function showControls(text: string): string {
	return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
