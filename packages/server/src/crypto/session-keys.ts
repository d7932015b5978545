import { hkdfSync } from "node:crypto";
import type { KeySet, MacKey } from "./key-set.ts";

/** Milliseconds for which a key may keep signing while its successor is being stored. */
const TAKEOVER_MS = 10_000;

/** Tells whether a key was in use at a moment: a retired one is trusted for what it made before, not for anything that somebody makes with it now. */
export function wasInUse({ retired_at }: Pick<MacKey, "retired_at">, at_ms: number): boolean {
	return retired_at === undefined || at_ms < retired_at.getTime() + TAKEOVER_MS;
}

/** A key of one purpose, and the key of sessions that it was derived from. */
interface DerivedKey<Key> {
	key: Key;
	from: MacKey;
}

/** Keys of one purpose, for cookies and challenges that last minutes. */
interface DerivedKeys<Key> {
	active(): Key;
	/** Returns all, the active one and the retired ones. */
	all(): DerivedKey<Key>[];
	/** Finds one by the hexadecimal id of the key that it was derived from. */
	byId(id: string): DerivedKey<Key> | undefined;
}

/** The keys of sessions, and the era of the store that what is made with derived keys is for. */
export interface KeySource {
	keys(): KeySet<MacKey>;
	era: string;
}

/**
 * Derives keys of one purpose from those of sessions, which every server of a database has: what one makes, the others know.
 * @param make turns 32 bytes into a key; `id` is that of the key of sessions, in hexadecimal
 */
export function deriveKeys<Key>(
	{ keys, era }: KeySource,
	purpose: string,
	make: (bytes: Buffer, id: string) => Key,
): DerivedKeys<Key> {
	const made = new WeakMap<MacKey, Key>();
	const derive = (from: MacKey): Key => {
		let key = made.get(from);
		if (key === undefined) {
			key = make(Buffer.from(hkdfSync("sha256", from.bytes, era, `svc ${purpose}`, 32)), from.id);
			made.set(from, key);
		}
		return key;
	};
	return {
		active: () => derive(keys().active),
		all: () => [...keys().byId.values()].map((from) => ({ key: derive(from), from })),
		byId(id) {
			const from = keys().byId.get(id);
			return from && { key: derive(from), from };
		},
	};
}
