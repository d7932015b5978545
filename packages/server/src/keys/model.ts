import * as v from "valibot";
import { KEY_PURPOSES, keyOperations } from "../crypto/keyring-model.ts";
import { errorMessage, RequiredText } from "../messages.ts";
import { type Port, scan } from "../operation.ts";

/** The key to replace: the master key, or the active key of a purpose; with a realm, its record key. Design: §5. */
export const RotateKey = v.object({
	purpose: v.picklist(
		["master", ...KEY_PURPOSES],
		errorMessage("validation_failed", `purpose must be one of master, ${KEY_PURPOSES.join(", ")}`),
	),
	/** Slug. */
	realm: v.nullish(RequiredText),
});

/** Operations of the store on the keyring, as its noun needs it. */
export const listedKeyOperations = {
	...keyOperations,
	/** Counts the keys that belong to realms, of all realms together. */
	countOfRealms: scan<() => { active: number; retired: number }>(),
};

/** The store's part for the keyring. */
export type ListedKeyStore = Port<typeof listedKeyOperations>;
