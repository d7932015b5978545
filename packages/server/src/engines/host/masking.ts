import { MASK } from "@svc/protocol";

/** Shortest masked text: masking shorter ones would hide half of every log line. */
const SHORTEST = 4;

/** Characters that a terminal, or a reader of the log, would act on instead of showing. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Replaces known secrets. */
export interface Mask {
	(text: string): string;
	/** Length of the longest masked text, in characters. */
	readonly longest: number;
}

/**
 * Makes a function that masks secrets in a text: each as a whole, line by line (a PEM key has many lines), and in its JSON form.
 * @param shortest minimum length of a secret to mask as a whole, in characters
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

/** Writes control and other invisible characters as `\u{1b}`. */
export function showControls(text: string): string {
	return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
