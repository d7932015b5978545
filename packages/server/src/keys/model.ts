import * as v from "valibot";
import { KEY_PURPOSES, type KeyStore } from "../crypto/keyring-model.ts";
import { RequiredText, says } from "../messages.ts";

/** What is to be replaced: the master key, or the active key of a purpose; with a realm, its record key. Design: §5. */
export const RotateKey = v.object({
	purpose: v.picklist(
		["master", ...KEY_PURPOSES],
		says("validation_failed", `purpose must be one of master, ${KEY_PURPOSES.join(", ")}`),
	),
	/** Slug. */
	realm: v.nullish(RequiredText),
});

/** The store's side of the keyring, as its noun needs it. */
export interface ListedKeyStore extends KeyStore {
	/** How many keys belong to a realm, of all realms together. */
	countOfRealms(): Promise<{ active: number; retired: number }>;
}
