import { madeAtMs } from "../system.ts";
import { KEY_BYTES, MAX_VERSIONS, SUPERSEDED_MS } from "./model.ts";

/** Use and limit of a live realm. */
export interface RealmQuota {
	bytes: number;
	keys: number;
	limit: number;
}

/** A version to be written. */
export interface IncomingVersion {
	version: number;
	/** Bytes that it counts in its realm. */
	bytes: number;
	created_at: string;
	/** True if its key was never written before. */
	isNewKey: boolean;
}

/** A stored version. */
export interface StoredVersion {
	version: number;
	bytes: number;
	/** UUIDv7 that tells when it was made: a MAC covers it, and not `created_at`. */
	id: string;
}

/** Versions to prune: those up to a number, their total bytes, and how many of them a realm with room would have kept. */
export interface Pruning {
	up_to: number;
	bytes: number;
	dropped: number;
}

/** Counts the bytes to free for a version. A realm already over its limit may stay there but not grow. */
function excessOf({ bytes, limit }: RealmQuota, incoming: IncomingVersion): number {
	return bytes + incoming.bytes - Math.max(limit, bytes);
}

/** Finds the newest version that may have to be dropped: the decision needs the stored versions up to it. */
export function lastPrunable(quota: RealmQuota, incoming: IncomingVersion): number {
	return excessOf(quota, incoming) > 0 ? incoming.version - 1 : incoming.version - MAX_VERSIONS;
}

/**
 * Decides which versions to prune for a new one: the last MAX_VERSIONS are kept, and a full realm loses as few of the oldest as possible, but none
 * that was superseded in the last minute. Undefined when there is no room.
 * @param stored versions of the same secret up to `lastPrunable`, oldest first
 * Design: §7, §13
 */
export function decidePruning(
	quota: RealmQuota,
	incoming: IncomingVersion,
	stored: readonly StoredVersion[],
): Pruning | undefined {
	if (incoming.isNewKey && (quota.keys + 1) * KEY_BYTES > quota.limit) return undefined;
	const excess = excessOf(quota, incoming);
	const minute_ago_ms = Date.parse(incoming.created_at) - SUPERSEDED_MS;
	const pruning = { up_to: 0, bytes: 0, dropped: 0 };
	for (const [index, old] of stored.entries()) {
		const isOld = old.version <= incoming.version - MAX_VERSIONS;
		const next = stored[index + 1];
		const isSuperseded =
			old.version < incoming.version - 1 && (next === undefined || madeAtMs(next.id) <= minute_ago_ms);
		if (!isOld && (pruning.bytes >= excess || !isSuperseded)) break;
		pruning.up_to = old.version;
		pruning.bytes += old.bytes;
		pruning.dropped += isOld ? 0 : 1;
	}
	return pruning.bytes >= excess ? pruning : undefined;
}
