import { madeAtMs } from "../system.ts";
import { KEY_BYTES, MAX_VERSIONS, SUPERSEDED_MS } from "./model.ts";

/** Use and limit of a live realm. */
export interface Room {
	bytes: number;
	keys: number;
	limit: number;
}

/** A version to be written. */
export interface Coming {
	version: number;
	/** Bytes that it counts in its realm. */
	bytes: number;
	created_at: string;
	/** True if its key was never written before. */
	isNewKey: boolean;
}

/** A stored version. */
export interface Kept {
	version: number;
	bytes: number;
	/** UUIDv7 that tells when it was made: a MAC covers it, and not `created_at`. */
	id: string;
}

/** Versions to drop: those up to a number, their total bytes, and how many of them a realm with room would have kept. */
export interface Giving {
	up_to: number;
	bytes: number;
	dropped: number;
}

/** Counts the bytes to free for a version. A realm already over its limit may stay there but not grow. */
function excessOf({ bytes, limit }: Room, coming: Coming): number {
	return bytes + coming.bytes - Math.max(limit, bytes);
}

/** Finds the newest version that may have to be dropped: the decision needs the stored versions up to it. */
export function lastToConsider(room: Room, coming: Coming): number {
	return excessOf(room, coming) > 0 ? coming.version - 1 : coming.version - MAX_VERSIONS;
}

/**
 * Decides which versions to drop for a new one: the last MAX_VERSIONS are kept, and a full realm loses as few of the oldest as possible, but none
 * that was superseded in the last minute. Undefined when there is no room.
 * @param kept versions of the same secret up to `lastToConsider`, oldest first
 * Design: §7, §13
 */
export function decideRoom(room: Room, coming: Coming, kept: readonly Kept[]): Giving | undefined {
	if (coming.isNewKey && (room.keys + 1) * KEY_BYTES > room.limit) return undefined;
	const excess = excessOf(room, coming);
	const minute_ago_ms = Date.parse(coming.created_at) - SUPERSEDED_MS;
	const giving = { up_to: 0, bytes: 0, dropped: 0 };
	for (const [index, old] of kept.entries()) {
		const isOld = old.version <= coming.version - MAX_VERSIONS;
		const next = kept[index + 1];
		const isSuperseded = old.version < coming.version - 1 && (next === undefined || madeAtMs(next.id) <= minute_ago_ms);
		if (!isOld && (giving.bytes >= excess || !isSuperseded)) break;
		giving.up_to = old.version;
		giving.bytes += old.bytes;
		giving.dropped += isOld ? 0 : 1;
	}
	return giving.bytes >= excess ? giving : undefined;
}
