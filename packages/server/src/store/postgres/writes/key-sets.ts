import type { KeyPart } from "../../../audit/key-parts.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";

/** Makes the operations on the names that events of bulk reads refer to. What is stored already stays as it is. */
export function keySetWrites(db: Change): Pick<Async<Implementations<"write">["audit"]>, "keepParts" | "appendNaming"> {
	const keepParts = async (parts: readonly KeyPart[]) => {
		for (const { hash, keys } of parts) if (keys !== undefined) await keepPart(db, hash, keys.split("\n"));
	};
	return {
		keepParts,
		async appendNaming({ hash, parts }, event) {
			await keepParts(parts);
			const [added] = await db.sql.rows<{ id: number }>(
				"INSERT INTO audit_key_set (hash, realm_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id",
				[hash, event.realm_id],
			);
			if (added !== undefined) {
				const joined = await db.sql.run(
					"INSERT INTO audit_part_in_set (set_id, part_id) SELECT $1, id FROM audit_key_part WHERE hash = ANY($2::text[])",
					[added.id, parts.map((part) => part.hash)],
				);
				if (joined !== parts.length) throw new Error("a part of a set of keys is not stored");
			}
			db.append(event);
		},
	};
}

async function keepPart({ sql }: Change, hash: string, keys: readonly string[]): Promise<void> {
	const [added] = await sql.rows<{ id: number }>(
		"INSERT INTO audit_key_part (hash) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id",
		[hash],
	);
	if (added === undefined) return;
	await sql.run("INSERT INTO audit_key (key) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING", [keys]);
	await sql.run(
		"INSERT INTO audit_key_in_part (part_id, key_id) SELECT $1, id FROM audit_key WHERE key = ANY($2::text[])",
		[added.id, keys],
	);
}
