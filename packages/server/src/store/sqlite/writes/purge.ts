import type { Database } from "better-sqlite3";
import { VERSION_BYTES } from "../../../secrets/model.ts";
import { endedWithRealm } from "../../shared-sql.ts";

/**
 * Limits on what one transaction removes of a purged realm: all other writes wait behind it. A full realm takes 0.2 to 1.3 s, 6 ms for a
 * MiB of large values and 10 µs for a small one.
 */
const MOST_SECRETS = 2000;
const MOST_BYTES = 2 * 1024 * 1024;

/** Time of deletion of a realm whose purge has begun, before any other, so that nobody restores a part of it. */
const PURGING = "";

/** Prepares the function that removes a part of a deleted realm's rows, and returns their number. */
export function purgeBatch(db: Database): (purgeable: { id: string; deleted_before: string }) => number {
	const isPurgeable = db
		.prepare("SELECT deleted_at FROM realm WHERE id = @id AND deleted_at < @deleted_before")
		.pluck();
	const begin = db.prepare("UPDATE realm SET deleted_at = ? WHERE id = ?");
	const removals = [
		removal(db, "secret", "secret_version WHERE secret_id"),
		removal(db, "deleted_secret", "deleted_version WHERE deletion_id"),
		endRestrictedBatch(db),
	];
	return (purgeable) => {
		const deleted_at = isPurgeable.get(purgeable);
		if (deleted_at === undefined) return 0;
		if (deleted_at !== PURGING) begin.run(PURGING, purgeable.id);
		for (const remove of removals) {
			const removed = remove(purgeable.id);
			if (removed > 0) return removed;
		}
		return 0;
	};
}

/** Prepares the function that removes a part of what ends with a realm's deletion, and returns the number of rows. */
export function endRestrictedBatch(db: Database): (realm_id: string) => number {
	const isDeleted = db.prepare("SELECT 1 FROM realm WHERE id = ? AND deleted_at IS NOT NULL").pluck();
	const removals = endedWithRealm("?").map(({ table, of, most }) =>
		db.prepare(`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${of} LIMIT ${most})`),
	);
	return (realm_id) => {
		if (isDeleted.get(realm_id) === undefined) return 0;
		for (const remove of removals) {
			const { changes } = remove.run(realm_id);
			if (changes > 0) return changes;
		}
		return 0;
	};
}

/** Prepares the function that removes some of a realm's secrets with their versions. */
function removal(db: Database, table: "secret" | "deleted_secret", versions: string): (realm_id: string) => number {
	const secrets = db.prepare(
		`SELECT id, (SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0) FROM ${versions} = ${table}.id) AS bytes ` +
			`FROM ${table} WHERE realm_id = ? LIMIT ${MOST_SECRETS}`,
	);
	const remove = db.prepare(`DELETE FROM ${table} WHERE id = ?`);
	return (realm_id) => {
		const chosen: (number | string)[] = [];
		let bytes = 0;
		for (const secret of secrets.iterate(realm_id) as IterableIterator<{ id: number | string; bytes: number }>) {
			chosen.push(secret.id);
			bytes += secret.bytes;
			if (bytes >= MOST_BYTES) break;
		}
		for (const id of chosen) remove.run(id);
		return chosen.length;
	};
}
