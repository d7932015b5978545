import { randomBytes } from "node:crypto";
import type { MacKey } from "../crypto/key-set.ts";
import type { KeySource } from "../crypto/session-keys.ts";

/** Keys of sessions, as a keyring has them. */
export interface TestSessionKeys extends KeySource {
	/** Makes a new active key; the others are retired. */
	rotate(now: Date): void;
}

/** Makes keys of sessions: one at the beginning. */
export function createSessionKeys(): TestSessionKeys {
	const newKey = (): MacKey => ({ id: randomBytes(8).toString("hex"), bytes: randomBytes(32), retired_at: undefined });
	const setOf = (...all: [MacKey, ...MacKey[]]) => ({ active: all[0], byId: new Map(all.map((key) => [key.id, key])) });
	let set = setOf(newKey());
	return {
		era: "",
		keys: () => set,
		rotate(now) {
			const retired = [...set.byId.values()].map((key) => ({ ...key, retired_at: key.retired_at ?? now }));
			set = setOf(newKey(), ...retired);
		},
	};
}
