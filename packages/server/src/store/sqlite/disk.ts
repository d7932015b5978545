import { statfsSync } from "node:fs";
import type { AuditEvent } from "../../audit/model.ts";
import { createCache } from "../../cache.ts";
import { AppError } from "../../errors.ts";
import { type CallerKeys, partOf } from "../../fair-queue.ts";
import { sourceGroup } from "../../source.ts";
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

/** Free share of the disk below which growth is slowed down. Design: §13. */
const LOW_SHARE = 0.15;

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

/** Events that an account, or a source without a signed-in user, may cause in a second while the disk is low. Design: §13. */
const EVENTS_PER_SECOND = 20;
const SECOND_MS = 1000;

/** Maximum number of accounts and sources counted at a time. */
const MAX_COUNTED = 10_000;

/** Slows down accounts and sources that fill a low disk. */
export interface LowDiskThrottle {
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
	/** When each account, source, machine, or realm with machines caused events, and how many events of an account one of them counts for. */
	const caused = createCache<string, { times: number[]; scale: number }>(MAX_COUNTED);
	let refused = 0;
	const since = (times: readonly number[], now: number) => times.filter((time) => now - time < SECOND_MS);
	const inLast = (times: readonly number[], now: number) => times.filter((time) => time <= now).length;
	return {
		refuse(event, count = 1) {
			if (event?.cause === undefined || !disk.isLow()) return undefined;
			const now = clock();
			const keys: CallerKeys = [sourceGroup(event.cause[0]), ...event.cause.slice(1)];
			const times = keys.map((key) => since(caused.get(key)?.times ?? [], now));
			const [all = 0, ...inner] = times.map((of) => inLast(of, now));
			const mostOf = (own: number, depth: number) => partOf(EVENTS_PER_SECOND, keys, depth, all - own);
			if ([all, ...inner].some((own, depth) => own > 0 && own + count > mostOf(own, depth))) {
				refused++;
				return diskLow();
			}
			// Events beyond one second's share use up the seconds that follow.
			const share = Math.max(1, Math.floor(partOf(EVENTS_PER_SECOND, keys, keys.length - 1, 0)));
			const later = Array.from({ length: count }, (_, index) => now + Math.floor(index / share) * SECOND_MS);
			for (const [depth, key] of keys.entries()) {
				const scale = EVENTS_PER_SECOND / partOf(EVENTS_PER_SECOND, keys, depth, 0);
				caused.set(key, { times: [...(times[depth] ?? []), ...later], scale });
			}
			return undefined;
		},
		seen() {
			const now = clock();
			let most = 0;
			for (const { times, scale } of caused.values())
				most = Math.max(most, Math.round(inLast(since(times, now), now) * scale));
			return { most, refused };
		},
	};
}

/** Makes the writer refuse callers that fill a low disk. A change that counts no events, such as one that ends a credential, is never refused. */
export function throttleWrites(writer: WriteQueue, throttle: Pick<LowDiskThrottle, "refuse">): WriteQueue {
	return {
		append(event) {
			const refusal = throttle.refuse(event);
			return refusal === undefined ? writer.append(event) : Promise.reject(refusal);
		},
		operation(noun, verb) {
			const run = writer.operation(noun, verb);
			const declared = DECLARATIONS.get(`${noun}.${verb}`);
			const events = declared?.kind === "write" ? declared.events : 1;
			if (events === 0) return run;
			return (...args) => {
				const count = Array.isArray(args[0]) ? args[0].length : events;
				const refusal = throttle.refuse(args.find(isEvent), count);
				return refusal === undefined ? run(...args) : Promise.reject(refusal);
			};
		},
	};
}

function isEvent(arg: unknown): arg is AuditEvent {
	return typeof arg === "object" && arg !== null && "timestamp" in arg && "actor" in arg && "type" in arg;
}

function diskLow(): AppError {
	return new AppError(
		"rate_limited",
		`less than 15 % of the server's disk is free, so each account or address is limited to ${EVENTS_PER_SECOND} events a second (low_disk_events_per_second): try again in a second`,
		{ headers: { "retry-after": "1" } },
	);
}
