import { statfsSync } from "node:fs";
import type { AuditEvent } from "../../audit/model.ts";
import { createCache } from "../../cache.ts";
import type { AppError } from "../../errors.ts";
import { type Caused, countEvents, eventsOf, LOW_SHARE, MAX_COUNTED, mostIn, tooManyEvents } from "../low-disk.ts";
import { DECLARATIONS } from "../store.ts";
import type { WriteQueue } from "./writer.ts";

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

/** Milliseconds between two measurements of the disk. */
const FRESH_MS = 1000;

/** Bytes that must be free, or the share on a small disk. */
const RESERVE = { bytes: 64 * 1024 * 1024, share: 0.05 } as const;

/** Measures the disk of a directory, once a second at most. A disk that cannot be read counts as empty: the next write shows the truth. */
export function createDisk(directory: string, statfs: (path: string) => FileSystem = statfsSync): Disk {
	let measured_at = Number.NEGATIVE_INFINITY;
	let space: Space = { free: 1, size: 1 };
	const measure = (): Space => {
		const now = performance.now();
		if (now - measured_at < FRESH_MS) return space;
		measured_at = now;
		try {
			space = spaceOf(statfs(directory));
		} catch {
			space = { free: 1, size: 1 };
		}
		return space;
	};
	return {
		isNearlyFull() {
			const { free, size } = measure();
			return free < Math.min(RESERVE.bytes, size * RESERVE.share);
		},
		isLow() {
			const { free, size } = measure();
			return free < size * LOW_SHARE;
		},
	};
}

/** Computes how much of a file system is free to this process, and how much it could use at most. */
function spaceOf({ bsize, blocks, bfree, bavail }: FileSystem): Space {
	return { free: bavail * bsize, size: (blocks - bfree + bavail) * bsize };
}

/** Slows down accounts and sources that fill a low disk. */
export interface LowDiskThrottle {
	/** Tells whether it counts now. */
	isOn(): boolean;
	/** Counts events that are about to be written; returns the refusal if there are too many. */
	refuse(event: AuditEvent | undefined, count?: number): AppError | undefined;
	/** Highest number of events of one account or source in the last second while the disk was low, scaled where a machine is nearer to its part, and the number of refusals since the start. */
	seen(): { most: number; refused: number };
}

/** Creates the throttle. It counts nothing while the disk is not low. */
export function createLowDiskThrottle(
	disk: Pick<Disk, "isLow">,
	clock: () => number = () => performance.now(),
): LowDiskThrottle {
	const caused = createCache<string, Caused>(MAX_COUNTED);
	let refused = 0;
	return {
		isOn: disk.isLow,
		refuse(event, count = 1) {
			if (event?.cause === undefined || !disk.isLow()) return undefined;
			const counted = countEvents(event.cause, count, clock(), (name) => caused.get(name));
			if (counted === undefined) {
				refused++;
				return tooManyEvents("less than 15 % of the server's disk is free");
			}
			for (const [name, of] of counted) caused.set(name, of);
			return undefined;
		},
		seen: () => ({ most: mostIn(caused.values(), clock()), refused }),
	};
}

/** Makes the writer refuse callers that fill a low disk. A change that counts no events, such as one that ends a credential, is never refused. */
export function throttleWrites(writer: WriteQueue, throttle: Pick<LowDiskThrottle, "isOn" | "refuse">): WriteQueue {
	return {
		append(event) {
			const refusal = throttle.refuse(event);
			return refusal === undefined ? writer.append(event) : Promise.reject(refusal);
		},
		operation(noun, verb) {
			const run = writer.operation(noun, verb);
			const declared = DECLARATIONS.get(`${noun}.${verb}`);
			return (...args) => {
				if (!throttle.isOn()) return run(...args);
				const { event, count } = eventsOf(declared, args);
				const refusal = throttle.refuse(event, count);
				return refusal === undefined ? run(...args) : Promise.reject(refusal);
			};
		},
	};
}
