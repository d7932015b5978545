import { LRUCache } from "lru-cache";
import type { System } from "../system.ts";
import type { Waiting } from "./flows.ts";
import type { Asserted, SsoStore } from "./model.ts";
import type { Provider } from "./providers.ts";

/** Milliseconds for which a code is valid, and how many logins can wait. */
export const CODE_MS = 60_000;
const MAX_CODES = 1000;

/** Finished logins that nobody has fetched yet, by their codes. */
export type Codes = LRUCache<string, Pending>;

/** A finished login. */
export interface Pending {
	provider: Provider;
	asserted: Asserted;
	waiting: Waiting;
	until_ms: number;
	/** Set once an invitation has been asked for: its time does not begin again. */
	isAsked?: boolean;
}

/** Makes the list of finished logins. A restart forgets them. */
export const createCodes = (): Codes => new LRUCache({ max: MAX_CODES, ttl: CODE_MS, ttlAutopurge: true });

/** Dependencies of taking a finished login. */
interface CodeNeeds {
	store: { sso: Pick<SsoStore, "provider"> };
	system: Pick<System, "now">;
	codes: Codes;
}

/**
 * Takes the login that a code stands for. The code is used up in any case.
 * @param isTheirs tells whether the login waits for the bearer of the code
 * @returns undefined when there is none, it is too old, waits for another, or its provider's settings have changed
 */
export async function takeLogin(
	{ store, system, codes }: CodeNeeds,
	code: string,
	isTheirs: (waiting: Waiting) => boolean,
): Promise<Pending | undefined> {
	const pending = codes.get(code);
	codes.delete(code);
	if (pending === undefined || !isTheirs(pending.waiting)) return undefined;
	if (system.now().getTime() >= pending.until_ms) return undefined;
	const { name, id } = pending.provider;
	return (await store.sso.provider(name))?.id === id ? pending : undefined;
}
