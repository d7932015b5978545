import {
	decidePruning,
	type IncomingVersion,
	lastPrunable,
	type Pruning,
	type RealmQuota,
	type StoredVersion,
} from "../../../secrets/decide.ts";
import { type NewVersion, VERSION_BYTES } from "../../../secrets/model.ts";
import type { Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";
import type { StoredRows } from "../stored-rows.ts";

/** The row of a key in an environment. */
export type Head = StoredRows["secret"];

type Name = Pick<Head, "realm_id" | "environment" | "key">;

/** Finds the row of a key in an environment, live or deleted. */
export async function headOf(db: Change, { realm_id, environment, key }: Name): Promise<Head | undefined> {
	const named = "realm_id = $1 AND environment = $2 AND key = $3";
	return (await db.stored("secret", named, [realm_id, environment, key]))[0];
}

/** Makes the row for the next version. A deleted secret gets a new one, so that the order of rows is the order of creation. */
export async function nextHead(
	db: Change,
	{ realm_id, environment, key, created_at }: Name & Pick<Head, "created_at">,
	found: Head | undefined,
	version: number,
): Promise<Pick<Head, "id" | "created_at">> {
	if (found !== undefined && found.deleted_at === null) {
		await db.update("secret", { version }, "id = $1", [found.id]);
		return found;
	}
	if (found !== undefined) await db.remove("secret", "id = $1", [found.id]);
	const [next] = await db.sql.rows<{ id: number }>("SELECT nextval('secret_id') AS id");
	const id = next?.id ?? 0;
	await db.insert("secret", { id, realm_id, environment, key, version, created_at, deleted_at: null });
	return { id, created_at };
}

/** Finds the use and the limit of a live realm. */
export async function quotaOf(
	db: Change,
	{ realm_id, realm_bytes }: Pick<NewVersion, "realm_id" | "realm_bytes">,
): Promise<RealmQuota | undefined> {
	const realm = await liveRealm(db, realm_id);
	if (realm === undefined) return undefined;
	const [own] = await db.verified("account_limit", "user_id = $1", [realm.user_id]);
	return { bytes: realm.bytes, keys: realm.keys, limit: own?.realm_bytes ?? realm_bytes };
}

/** Changes the counts of a realm. */
export async function countIn(
	db: Change,
	{ realm_id, bytes, keys }: { realm_id: string; bytes: number; keys: number },
): Promise<void> {
	await db.sql.run("UPDATE realm SET bytes = bytes + $2, keys = keys + $3 WHERE id = $1", [realm_id, bytes, keys]);
}

/** Decides which versions give way to a new one; undefined when it has no room. */
export async function findPruning(
	db: Change,
	quota: RealmQuota,
	incoming: IncomingVersion,
	secret_id: number | undefined,
): Promise<Pruning | undefined> {
	const up_to = lastPrunable(quota, incoming);
	const stored =
		secret_id === undefined || up_to < 1
			? []
			: await db.sql.rows<StoredVersion>(
					`SELECT version, length(value) + ${VERSION_BYTES} AS bytes, id FROM secret_version WHERE secret_id = $1 AND version <= $2 ORDER BY version`,
					[secret_id, up_to],
				);
	return decidePruning(quota, incoming, stored);
}
