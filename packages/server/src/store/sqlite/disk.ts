import { statfsSync } from "node:fs";

/** Size of a file system as statfs reports it, in blocks. */
export interface FileSystem {
	bsize: number;
	blocks: number;
	bfree: number;
	bavail: number;
}

/** Room on the disk, in bytes. */
interface Space {
	free: number;
	/** Used and free bytes, without those that the system reserves for itself. */
	size: number;
}

/** Disk of the data directory. */
export interface Disk {
	/** Tells whether less is free than the next commits may need: the log grows to 32 MiB and more before it starts over. */
	isNearlyFull(): boolean;
	/** Tells whether less than 15 % is free. */
	isLow(): boolean;
}

/** Milliseconds between two looks at the disk. */
const FRESH_MS = 1000;

/** Bytes that must be free, or the share on a small disk. */
const RESERVE = { bytes: 64 * 1024 * 1024, share: 0.05 } as const;

/** Free share of the disk below which growth is slowed down. Design: §13. */
const LOW_SHARE = 0.15;

/** Looks at the disk of a directory, once a second at most. A disk that cannot be read counts as empty: the next write shows the truth. */
export function createDisk(directory: string, statfs: (path: string) => FileSystem = statfsSync): Disk {
	let looked_at = Number.NEGATIVE_INFINITY;
	let space: Space = { free: 1, size: 1 };
	const look = (): Space => {
		const now = performance.now();
		if (now - looked_at < FRESH_MS) return space;
		looked_at = now;
		try {
			space = spaceOf(statfs(directory));
		} catch {
			space = { free: 1, size: 1 };
		}
		return space;
	};
	return {
		isNearlyFull() {
			const { free, size } = look();
			return free < Math.min(RESERVE.bytes, size * RESERVE.share);
		},
		isLow() {
			const { free, size } = look();
			return free < size * LOW_SHARE;
		},
	};
}

/** Computes how much of a file system is free to this process, and how much it could use at most. */
function spaceOf({ bsize, blocks, bfree, bavail }: FileSystem): Space {
	return { free: bavail * bsize, size: (blocks - bfree + bavail) * bsize };
}
