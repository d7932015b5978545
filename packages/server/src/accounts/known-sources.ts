import { createHmac, hkdfSync } from "node:crypto";
import type { KeySet, MacKey } from "../crypto/key-set.ts";
import type { Awaitable } from "../operation.ts";
import { sourceGroup } from "../source.ts";
import type { System } from "../system.ts";
import type { AccountStore, KnownSource } from "./model.ts";

/** Milliseconds for which a source is known after a sign-in, and after which a further sign-in renews it. Design: §13 */
const KNOWN_MS = 30 * 24 * 60 * 60 * 1000;
const RENEWED_MS = 24 * 60 * 60 * 1000;

/** Dependencies of the known sources. */
export interface KnownSourceNeeds {
	store: { accounts: Pick<AccountStore, "isKnownSource"> };
	keyring: { session(): KeySet<MacKey> };
	system: Pick<System, "now">;
}

/** Sources that accounts sign in from. The database holds no address in clear text. */
export interface KnownSources {
	/**
	 * Tells whether an account signed in from a source in the last 30 days. One that does not exist never did; the lookup is the same.
	 * @param account the name under which its guesses are counted: see `Throttle`
	 * @param source as `sourceGroup` names it
	 */
	knows(account: string, source: string): Awaitable<boolean>;
	/** Makes the record that the transaction opening a session stores. */
	note(account: string, ip: string): KnownSource;
}

/** Makes the known sources. A retired session key still finds the records written under it. */
export function createKnownSources({ store, keyring, system }: KnownSourceNeeds): KnownSources {
	return {
		knows(account, source) {
			const pairs = [...keyring.session().byId.values()].map((key) => pairOf(key, account, source));
			return store.accounts.isKnownSource(pairs, before(system.now(), KNOWN_MS));
		},
		note(account, ip) {
			const now = system.now();
			const pair = pairOf(keyring.session().active, account, sourceGroup(ip));
			return { pair, seen_at: now.toISOString(), renew_before: before(now, RENEWED_MS) };
		},
	};
}

/** Returns the instant before which a sighting may be forgotten. */
export function knownSourceCutoff(now: Date): string {
	return before(now, KNOWN_MS);
}

function before(now: Date, ms: number): string {
	return new Date(now.getTime() - ms).toISOString();
}

/** Authenticates account and source under a key of their own: they are found together or not at all. */
function pairOf({ bytes }: MacKey, account: string, source: string): Buffer {
	const key = Buffer.from(hkdfSync("sha256", bytes, "", "svc known source", 32));
	return createHmac("sha256", key)
		.update(JSON.stringify([account, source]))
		.digest();
}
