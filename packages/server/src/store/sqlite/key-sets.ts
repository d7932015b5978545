import type { Database } from "better-sqlite3";
import { type KeySet, keySetOf, type NamedKeys, partHash, setHash } from "../../audit/key-parts.ts";
import { SETS_WITH_KEYS } from "../shared-sql.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

/** Names the keys of secrets, as a set whose stored parts have no keys. */
export function keySetOfSecrets(db: Database) {
	const prepare = createStatements(db);
	return (secret_ids: Float64Array): KeySet | undefined => {
		const nameOf = prepare(`SELECT key FROM ${verified("secret")} WHERE id = ?`).pluck();
		const isStored = prepare("SELECT 1 FROM audit_key_part WHERE hash = ?").pluck();
		const keys = new Set<string>();
		for (const id of secret_ids) {
			const key = nameOf.get(id) as string | undefined;
			if (key === undefined) return undefined;
			keys.add(key);
		}
		const { hash, parts } = keySetOf(keys);
		return {
			hash,
			parts: parts.map((part) => (isStored.get(part.hash) === undefined ? part : { ...part, keys: undefined })),
		};
	};
}

/** Selects the sets that hold a key. */
export const SETS_WITH_KEY = `${SETS_WITH_KEYS} WHERE k.key = @key`;

/** Questions about sets of keys. */
export function keySets(db: Database) {
	const prepare = createStatements(db);
	const keysOf = (part_id: number) =>
		prepare(
			"SELECT k.key FROM audit_key_in_part i JOIN audit_key k ON k.id = i.key_id WHERE i.part_id = ? ORDER BY k.key",
		)
			.pluck()
			.all(part_id) as string[];
	const partsOf = (set_id: number) =>
		prepare(
			"SELECT p.id, p.hash FROM audit_part_in_set m JOIN audit_key_part p ON p.id = m.part_id WHERE m.set_id = ? ORDER BY p.hash",
		).all(set_id) as { id: number; hash: string }[];
	return {
		/** Finds a set of a realm, or a part of one. */
		named(realm_id: string, hash: string): NamedKeys | undefined {
			const set = prepare("SELECT id FROM audit_key_set WHERE hash = ? AND realm_id = ?").pluck().get(hash, realm_id);
			if (set !== undefined) return { parts: partsOf(set as number).map((part) => part.hash) };
			const part = prepare(
				`SELECT p.id FROM audit_key_part p WHERE p.hash = ? AND EXISTS (
					SELECT 1 FROM audit_part_in_set m JOIN audit_key_set s ON s.id = m.set_id WHERE m.part_id = p.id AND s.realm_id = ?)`,
			)
				.pluck()
				.get(hash, realm_id);
			return part === undefined ? undefined : { keys: keysOf(part as number) };
		},
		/**
		 * Makes the function that checks by hashes whether a set of a realm names what was named. A set is read when it is first asked about:
		 * one that is stored meanwhile, in the transaction of its event, is found.
		 */
		soundness(): (realm_id: string, hash: string) => boolean {
			const partIsSound = remembered((id: number, hash: string) => partHash(keysOf(id).join("\n")) === hash);
			const setIsSound = remembered((id: number, hash: string) => {
				const own = partsOf(id);
				return setHash(own.map((part) => part.hash)) === hash && own.every((part) => partIsSound(part.id, part.hash));
			});
			const find = prepare("SELECT id FROM audit_key_set WHERE hash = ? AND realm_id = ?").pluck();
			return (realm_id, hash) => {
				const id = find.get(hash, realm_id) as number | undefined;
				return id !== undefined && setIsSound(id, hash);
			};
		},
	};
}

/** Remembers answers about rows by their numbers. */
function remembered(answer: (id: number, hash: string) => boolean): typeof answer {
	const known = new Map<number, boolean>();
	return (id, hash) => {
		const found = known.get(id) ?? answer(id, hash);
		known.set(id, found);
		return found;
	};
}
