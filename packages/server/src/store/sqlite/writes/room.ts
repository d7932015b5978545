import type { Database } from "better-sqlite3";
import { KEY_BYTES, SUPERSEDED_MS, VERSION_BYTES } from "../../../secrets/model.ts";

/** How much a live realm holds, and how much it may. */
export interface Room {
	bytes: number;
	keys: number;
	limit: number;
}

/** A version that is to be written: its secret, when there is one that has versions, and its number, size and time. */
interface Coming {
	secret_id: number | undefined;
	version: number;
	bytes: number;
	created_at: string;
}

/** Versions that give way: those up to a number, what they hold together, and how many would have been kept in a realm that is not full. */
export interface Giving {
	up_to: number;
	bytes: number;
	dropped: number;
}

/** Versions of a secret that are kept, the current one included. Design: §7. */
export const MAX_VERSIONS = 20;

/** Makes what keeps count of a realm's bytes inside the transaction, and finds room. */
export function roomOf(db: Database) {
	const room = db.prepare(
		'SELECT bytes, keys, coalesce((SELECT realm_bytes FROM account_limit WHERE user_id = realm.user_id), @realm_bytes) AS "limit" ' +
			"FROM realm WHERE id = @realm_id AND deleted_at IS NULL",
	);
	const count = db.prepare("UPDATE realm SET bytes = bytes + @bytes, keys = keys + @keys WHERE id = @realm_id");
	const held = db
		.prepare(
			`SELECT coalesce(sum(length(value) + ${VERSION_BYTES}), 0) FROM secret_version WHERE secret_id = ? AND version <= ?`,
		)
		.pluck();
	const versions = db.prepare(
		`SELECT version, length(value) + ${VERSION_BYTES} AS bytes, created_at FROM secret_version WHERE secret_id = ? ORDER BY version`,
	);

	/** Gives up old versions, oldest first, until `excess` bytes are freed; undefined when that is not enough. */
	function giveUp({ secret_id, version, created_at }: Coming, excess: number): Giving | undefined {
		const kept = versions.all(secret_id) as { version: number; bytes: number; created_at: string }[];
		const minuteAgo = new Date(Date.parse(created_at) - SUPERSEDED_MS).toISOString();
		const giving = { up_to: 0, bytes: 0, dropped: 0 };
		for (const [index, old] of kept.slice(0, -1).entries()) {
			const isOld = old.version <= version - MAX_VERSIONS;
			if (giving.bytes >= excess && !isOld) break;
			if (!isOld && (kept[index + 1]?.created_at ?? created_at) > minuteAgo) break;
			giving.up_to = old.version;
			giving.bytes += old.bytes;
			giving.dropped += isOld ? 0 : 1;
		}
		return giving.bytes >= excess ? giving : undefined;
	}

	return {
		find: (where: { realm_id: string; realm_bytes: number }) => room.get(where) as Room | undefined,
		count: (change: { realm_id: string; bytes: number; keys: number }) => void count.run(change),
		/** Bytes of a secret's versions up to one. */
		held: (secret_id: number, up_to: number) => held.get(secret_id, up_to) as number,
		/** What gives way to a version; undefined when it has no room. What is over the limit already may stay, and does not grow. */
		fit({ bytes, keys, limit }: Room, coming: Coming, isNewKey: boolean): Giving | undefined {
			if (isNewKey && (keys + 1) * KEY_BYTES > limit) return undefined;
			const excess = bytes + coming.bytes - Math.max(limit, bytes);
			if (excess > 0) return coming.secret_id === undefined ? undefined : giveUp(coming, excess);
			const up_to = Math.max(0, coming.version - MAX_VERSIONS);
			const isPruned = up_to > 0 && coming.secret_id !== undefined;
			return { up_to, bytes: isPruned ? (held.get(coming.secret_id, up_to) as number) : 0, dropped: 0 };
		},
	};
}
