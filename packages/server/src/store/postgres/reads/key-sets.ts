import { type NamedKeys, partHash, setHash } from "../../../audit/key-parts.ts";
import type { StoredEvent } from "../../../audit/model.ts";
import { keySetIn } from "../../../audit/verify.ts";
import type { Sql } from "../connection.ts";

interface Part {
	id: number;
	hash: string;
}

async function keysOf(sql: Sql, part_id: number): Promise<string[]> {
	const found = await sql.rows<{ key: string }>(
		"SELECT k.key FROM audit_key_in_part i JOIN audit_key k ON k.id = i.key_id WHERE i.part_id = $1 ORDER BY k.key",
		[part_id],
	);
	return found.map(({ key }) => key);
}

async function partsOf(sql: Sql, realm_id: string, hash: string): Promise<Part[] | undefined> {
	const [set] = await sql.rows<{ id: number }>("SELECT id FROM audit_key_set WHERE hash = $1 AND realm_id = $2", [
		hash,
		realm_id,
	]);
	if (set === undefined) return undefined;
	return sql.rows<Part>(
		"SELECT p.id, p.hash FROM audit_part_in_set m JOIN audit_key_part p ON p.id = m.part_id WHERE m.set_id = $1 ORDER BY p.hash",
		[set.id],
	);
}

/** Finds a set of a realm, or a part of one. */
export async function namedKeys(sql: Sql, realm_id: string, hash: string): Promise<NamedKeys | undefined> {
	const parts = await partsOf(sql, realm_id, hash);
	if (parts !== undefined) return { parts: parts.map((part) => part.hash) };
	const [part] = await sql.rows<{ id: number }>(
		`SELECT p.id FROM audit_key_part p WHERE p.hash = $2 AND EXISTS (
			SELECT 1 FROM audit_part_in_set m JOIN audit_key_set s ON s.id = m.set_id WHERE m.part_id = p.id AND s.realm_id = $1)`,
		[realm_id, hash],
	);
	return part && { keys: await keysOf(sql, part.id) };
}

/** Makes the function that checks by hashes whether the set that an event refers to names what was named. */
export function soundSets(sql: Sql): (event: StoredEvent) => Promise<boolean> {
	const soundParts = new Map<string, boolean>();
	const soundSets = new Map<string, boolean>();
	const isPartSound = async ({ id, hash }: Part) => {
		const found = soundParts.get(hash) ?? partHash((await keysOf(sql, id)).join("\n")) === hash;
		soundParts.set(hash, found);
		return found;
	};
	const isSetSound = async (realm_id: string, hash: string) => {
		const parts = await partsOf(sql, realm_id, hash);
		if (parts === undefined || setHash(parts.map((part) => part.hash)) !== hash) return false;
		for (const part of parts) if (!(await isPartSound(part))) return false;
		return true;
	};
	return async (event) => {
		const set = keySetIn(event);
		if (set === undefined) return true;
		const name = `${event.realm_id} ${set}`;
		const found = soundSets.get(name) ?? (await isSetSound(event.realm_id, set));
		soundSets.set(name, found);
		return found;
	};
}
