const MASK = "********";

/** Texts that are shorter would mask half of every message. */
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
 */
export function createMask(secrets: readonly string[]): Mask {
	const texts = secrets
		.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), ...secret.split(/\r?\n/)])
		.filter((text) => text.length >= SHORTEST)
		.sort((a, b) => b.length - a.length);
	const pattern = new RegExp([...new Set(texts)].map((text) => RegExp.escape(text)).join("|"), "g");
	const mask = (text: string) => (texts.length === 0 ? text : text.replace(pattern, MASK));
	return Object.assign(mask, { longest: texts[0]?.length ?? 0 });
}

/** Writes control characters, and others that cannot be seen, as `\u{1b}`. */
export function showControls(text: string): string {
	return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
