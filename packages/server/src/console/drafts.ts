import { LRUCache } from "lru-cache";
import type { Draft, Fields } from "./page.ts";

/** Limits on kept forms: in all, for one account, and in characters each. Together they take at most 8 MiB. */
const MAX_DRAFTS = 64;
const MAX_DRAFTS_OF_ACCOUNT = 4;
const MAX_CHARACTERS = 65_536;

/** Characters that a field takes up in addition to its name and its text. */
const FIELD_CHARACTERS = 64;

/** Milliseconds for which a refused form is kept. */
const KEPT_MS = 5 * 60_000;

/** Minutes for which a refused form is kept, for the page that says so. */
export const KEPT_MINUTES = KEPT_MS / 60_000;

interface Kept {
	target: string;
	form: Fields;
}

/** Makes the function that finds the draft of an account's session. */
export function createDrafts(): (user_id: string, jti: string) => Draft {
	const drafts = new LRUCache<string, Kept>({ max: MAX_DRAFTS, ttl: KEPT_MS, ttlAutopurge: true });
	/** Drops the account's oldest drafts, so that it cannot push out those of others. */
	function dropOldest(user_id: string): void {
		// The newest comes first.
		const own = [...drafts.keys()].filter((name) => name.startsWith(`${user_id} `));
		for (const name of own.slice(MAX_DRAFTS_OF_ACCOUNT)) drafts.delete(name);
	}
	return (user_id, jti) => {
		const name = `${user_id} ${jti}`;
		return {
			keep(target, form) {
				const isSmall = sizeOf(form) <= MAX_CHARACTERS;
				if (isSmall) drafts.set(name, { target, form });
				else drafts.delete(name);
				dropOldest(user_id);
				return isSmall;
			},
			kept(target) {
				const kept = drafts.get(name);
				return kept?.target === target ? kept.form : undefined;
			},
			drop: () => void drafts.delete(name),
		};
	};
}

function sizeOf(form: Fields): number {
	return Object.entries(form).reduce((sum, [name, text = ""]) => sum + name.length + text.length + FIELD_CHARACTERS, 0);
}
