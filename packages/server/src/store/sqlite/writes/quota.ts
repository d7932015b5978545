import type { Database } from "better-sqlite3";
import {
	decidePruning,
	type IncomingVersion,
	lastPrunable,
	type Pruning,
	type RealmQuota,
	type StoredVersion,
} from "../../../secrets/decide.ts";
import { VERSION_BYTES } from "../../../secrets/model.ts";
import { verified } from "../row-guard.ts";
import { BOUND } from "../statements.ts";
import { liveRealm } from "./live-realm.ts";

/** Creates the functions that read and count a realm's bytes inside the transaction, and prune versions. */
export function createQuotas(db: Database) {
	const limit = `SELECT realm_bytes FROM ${verified("account_limit")} WHERE user_id = realm.user_id`;
	const quota = db.prepare(liveRealm(`bytes, keys, coalesce((${limit}), @realm_bytes) AS "limit"`));
	const count = db.prepare("UPDATE realm SET bytes = bytes + @bytes, keys = keys + @keys WHERE id = @realm_id");
	const held = db
		.prepare(
			`SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0) FROM secret_version WHERE secret_id = ? AND version <= ?`,
		)
		.pluck();
	const versions = db.prepare(
		`SELECT version, length(value) + ${VERSION_BYTES} AS bytes, id FROM secret_version WHERE secret_id = ${BOUND} AND version <= ${BOUND} ORDER BY version`,
	);
	const storedOf = (secret_id: number | undefined, up_to: number): StoredVersion[] =>
		secret_id === undefined || up_to < 1 ? [] : (versions.all(secret_id, up_to) as StoredVersion[]);
	return {
		find: ({ realm_id, realm_bytes }: { realm_id: string; realm_bytes: number }) =>
			quota.get(realm_id, { realm_bytes }) as RealmQuota | undefined,
		count: (change: { realm_id: string; bytes: number; keys: number }) => void count.run(change),
		/** Bytes of a secret's versions up to the given one. */
		held: (secret_id: number, up_to: number) => held.get(secret_id, up_to) as number,
		/** Versions that give way to a new one; undefined when it has no room. */
		fit: (quota: RealmQuota, incoming: IncomingVersion, secret_id: number | undefined): Pruning | undefined =>
			decidePruning(quota, incoming, storedOf(secret_id, lastPrunable(quota, incoming))),
	};
}
