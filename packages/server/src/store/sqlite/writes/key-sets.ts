import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { KeyPart, KeySet } from "../../../audit/key-parts.ts";
import type { AuditEvent } from "../../../audit/model.ts";

/** Operations on the names that events of bulk reads refer to. What is stored already stays as it is. */
export function keySetWrites(db: Database, append: Append) {
	const addPart = db
		.prepare("INSERT INTO audit_key_part (hash) VALUES (?) ON CONFLICT DO NOTHING RETURNING id")
		.pluck();
	const addKey = db.prepare("INSERT INTO audit_key (key) VALUES (?) ON CONFLICT DO NOTHING");
	const join = db.prepare("INSERT INTO audit_key_in_part (part_id, key_id) SELECT ?, id FROM audit_key WHERE key = ?");
	const addSet = db
		.prepare("INSERT INTO audit_key_set (hash, realm_id) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id")
		.pluck();
	const joinSet = db.prepare(
		"INSERT INTO audit_part_in_set (set_id, part_id) SELECT ?, id FROM audit_key_part WHERE hash = ?",
	);
	const keepParts = (parts: readonly KeyPart[]): void => {
		for (const { hash, keys } of parts) {
			if (keys === undefined) continue;
			const id = addPart.get(hash);
			if (id === undefined) continue;
			for (const key of keys.split("\n")) {
				addKey.run(key);
				join.run(id, key);
			}
		}
	};
	return {
		keepParts,
		appendNaming({ hash, parts }: KeySet, event: AuditEvent): void {
			keepParts(parts);
			const id = addSet.get(hash, event.realm_id);
			if (id !== undefined) {
				for (const part of parts) {
					if (joinSet.run(id, part.hash).changes === 0) throw new Error("a part of a set of keys is not stored");
				}
			}
			append(event);
		},
	};
}
