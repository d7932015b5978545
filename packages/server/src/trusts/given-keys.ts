import { LRUCache } from "lru-cache";
import { type IssuerKey, keysFor, readKeys } from "./jwks.ts";
import type { Claims, Jwt } from "./jwt.ts";

/** Characters of the key sets that are remembered. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Remembers the keys that trusts were given, by their text: anybody can ask, and reading a set and importing a key take up to a millisecond. */
export class GivenKeys {
	readonly #sets = new LRUCache<string, Claims[]>({
		maxSize: MAX_CHARACTERS,
		sizeCalculation: (_, jwks) => jwks.length,
	});
	readonly #imported = new WeakMap<Claims, IssuerKey[]>();

	/** Recalls the key that a JWT may be signed with; undefined when it must be read. @param jwks JSON */
	recall(jwks: string, jwt: Jwt): readonly IssuerKey[] | undefined {
		const set = this.#sets.get(jwks);
		if (set === undefined) return undefined;
		const fitting = onlyOne(keysFor(set, jwt));
		return fitting === undefined ? [] : this.#imported.get(fitting);
	}

	/** Reads the key that a JWT may be signed with; none when several fit. A machine may have 20 trusts of 20 keys: the others are not imported. */
	read(jwks: string, jwt: Jwt): readonly IssuerKey[] {
		const set: Claims[] = this.#sets.get(jwks) ?? JSON.parse(jwks).keys;
		this.#sets.set(jwks, set);
		const fitting = onlyOne(keysFor(set, jwt));
		if (fitting === undefined) return [];
		const keys = readKeys([fitting]);
		this.#imported.set(fitting, keys);
		return keys;
	}
}

const onlyOne = <T>([first, ...others]: readonly T[]): T | undefined => (others.length > 0 ? undefined : first);
