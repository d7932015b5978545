import type { Database } from "better-sqlite3";
import { VERSION_BYTES } from "../../secrets/model.ts";

/** Reads every row of a table of versions, but not its values: their lengths come before them. No index may hide one. */
const versionsOf = (table: string, secrets: string, id: string) =>
	`SELECT s.realm_id, length(v.value) + ${VERSION_BYTES} AS bytes FROM main.${table} AS v NOT INDEXED CROSS JOIN main.${secrets} AS s ON s.id = v.${id}`;

const COUNTED = `SELECT realm.id, coalesce(held.bytes, 0) AS bytes, coalesce(named.keys, 0) AS keys FROM main.realm
	LEFT JOIN (SELECT realm_id, sum(bytes) AS bytes FROM (
		${versionsOf("secret_version", "secret", "secret_id")} UNION ALL ${versionsOf("deleted_version", "deleted_secret", "deletion_id")}
	) GROUP BY realm_id) AS held ON held.realm_id = realm.id
	LEFT JOIN (SELECT realm_id, count(*) AS keys FROM main.secret NOT INDEXED GROUP BY realm_id) AS named ON named.realm_id = realm.id`;

const DIFFERENT = `SELECT 1 FROM main.realm JOIN (${COUNTED}) AS found USING (id)
	WHERE deleted_at IS NULL AND (realm.bytes <> found.bytes OR realm.keys <> found.keys) LIMIT 1`;

/** Tells whether each live realm holds as many bytes and keys as its row says. It reads every version, without the values. */
export function areRealmsCounted(db: Database): boolean {
	return db.prepare(DIFFERENT).get() === undefined;
}

/** Counts what all realms hold again. */
export function countRealms(db: Database): void {
	db.exec(
		`UPDATE main.realm SET bytes = found.bytes, keys = found.keys FROM (${COUNTED}) AS found WHERE found.id = realm.id`,
	);
}
