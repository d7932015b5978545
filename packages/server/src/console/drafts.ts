import { LRUCache } from "lru-cache";
import type { Fields } from "./page.ts";

/** Sessions whose refused form is kept, and characters of the largest one: 8 MiB at most in memory. */
const MAX_DRAFTS = 64;
const MAX_CHARACTERS = 65_536;

/** Milliseconds for which a refused form is kept. */
const KEPT_MS = 5 * 60_000;

/** Minutes for which a refused form is kept, for the page that says so. */
export const KEPT_MINUTES = KEPT_MS / 60_000;

interface Kept {
	target: string;
	form: Fields;
}

/** A session's refused form. Its secrets stay in the server's memory: no page holds them, and nothing stores them. */
export interface Draft {
	/** Keeps the form in place of the one before; false when it is too large. */
	keep(target: string, form: Fields): boolean;
	/** Returns the form that was kept for this target. */
	kept(target: string): Fields | undefined;
	drop(): void;
}

/** Makes the function that finds a session's draft. */
export function createDrafts(): (jti: string) => Draft {
	const drafts = new LRUCache<string, Kept>({ max: MAX_DRAFTS, ttl: KEPT_MS, ttlAutopurge: true });
	return (jti) => ({
		keep(target, form) {
			const characters = Object.values(form).reduce((sum, text = "") => sum + text.length, 0);
			if (characters > MAX_CHARACTERS) drafts.delete(jti);
			else drafts.set(jti, { target, form });
			return characters <= MAX_CHARACTERS;
		},
		kept(target) {
			const kept = drafts.get(jti);
			return kept?.target === target ? kept.form : undefined;
		},
		drop: () => void drafts.delete(jti),
	});
}
