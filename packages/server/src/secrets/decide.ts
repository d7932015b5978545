import { KEY_BYTES, MAX_VERSIONS, SUPERSEDED_MS } from "./model.ts";

/** How much a live realm holds, and how much it may. */
export interface Room {
	bytes: number;
	keys: number;
	limit: number;
}

/** A version that is to be written. */
export interface Coming {
	version: number;
	/** What it counts in its realm. */
	bytes: number;
	created_at: string;
	/** Whether its key was never written before. */
	isNewKey: boolean;
}

/** A version that is kept. */
export interface Kept {
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

/** Bytes that have to be freed for a version. What is over the limit already may stay, and does not grow. */
function excessOf({ bytes, limit }: Room, coming: Coming): number {
	return bytes + coming.bytes - Math.max(limit, bytes);
}

/** The newest version that may have to give way: the decision needs those that are kept up to it. */
export function lastToConsider(room: Room, coming: Coming): number {
	return excessOf(room, coming) > 0 ? coming.version - 1 : coming.version - MAX_VERSIONS;
}

/**
 * Decides what gives way to a version: the last MAX_VERSIONS are kept, and in a full realm as few of the oldest go as have to, but none that was
 * superseded in the last minute. Undefined when it has no room.
 * @param kept versions of the same secret up to `lastToConsider`, oldest first
 * Design: §7, §13
 */
export function decideRoom(room: Room, coming: Coming, kept: readonly Kept[]): Giving | undefined {
	if (coming.isNewKey && (room.keys + 1) * KEY_BYTES > room.limit) return undefined;
	const excess = excessOf(room, coming);
	const minuteAgo = new Date(Date.parse(coming.created_at) - SUPERSEDED_MS).toISOString();
	const giving = { up_to: 0, bytes: 0, dropped: 0 };
	for (const [index, old] of kept.entries()) {
		const isOld = old.version <= coming.version - MAX_VERSIONS;
		const isSuperseded = old.version < coming.version - 1 && (kept[index + 1]?.created_at ?? "") <= minuteAgo;
		if (!isOld && (giving.bytes >= excess || !isSuperseded)) break;
		giving.up_to = old.version;
		giving.bytes += old.bytes;
		giving.dropped += isOld ? 0 : 1;
	}
	return giving.bytes >= excess ? giving : undefined;
}
