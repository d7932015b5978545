import { randomBytes, randomUUIDv7 } from "node:crypto";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

/** The impure inputs of every rule: tests replace them, nothing else reads a clock or a random source. */
export interface System {
	/** The wall clock. */
	now(): Date;
	/** `size` cryptographically random bytes. */
	randomBytes(size: number): Buffer;
	/** Milliseconds since the machine started, including sleep. */
	uptimeMs(): number;
	/** Identifies this boot of the machine; empty where the machine has no such id. */
	bootId(): string;
	/** A new identifier: UUID version 7, so that rows made in sequence lie side by side. */
	uuid(): string;
}

/** Length of the time at the beginning of an id, with a hyphen in it. */
const TIME = 13;

/** Reads when an id was made, in Unix milliseconds; NaN for text that is no id. */
export function madeAtMs(id: string): number {
	return Number.parseInt(id.slice(0, TIME).replace("-", ""), 16);
}

/** Replaces the time of a new id by that of another one, whose row it continues. */
export function withTimeOf(other: string, id: string): string {
	return `${other.slice(0, TIME)}${id.slice(TIME)}`;
}

/** Random bytes fetched at once: asking the kernel for 24 costs as much as asking for 4,096. */
const POOL_BYTES = 4096;

/** Gives out the bytes of a pool, each once, and wipes them from the pool. */
function pooled(): System["randomBytes"] {
	let pool = Buffer.alloc(0);
	return (size) => {
		if (size > POOL_BYTES / 4) return randomBytes(size);
		if (pool.length < size) pool = randomBytes(POOL_BYTES);
		const given = Buffer.from(pool.subarray(0, size));
		pool.fill(0, 0, size);
		pool = pool.subarray(size);
		return given;
	};
}

/** Milliseconds for which the uptime is counted on from its last reading. */
const UPTIME_READ_MS = 100;

/** Reads the uptime rarely, since that opens a file: 10 µs. In between, the process's own clock counts; it stands still while the machine sleeps. */
function steadyUptime(): System["uptimeMs"] {
	let read_at = Number.NEGATIVE_INFINITY;
	let ahead_ms = 0;
	let last = 0;
	return () => {
		const now = performance.now();
		if (now - read_at >= UPTIME_READ_MS) {
			read_at = now;
			ahead_ms = uptime() * 1000 - now;
		}
		last = Math.max(last, Math.round(now + ahead_ms));
		return last;
	};
}

/** The machine's own clock and random source. */
export const system: System = {
	now: () => new Date(),
	randomBytes: pooled(),
	uptimeMs: steadyUptime(),
	bootId: readBootId,
	uuid: () => randomUUIDv7(),
};

function readBootId(): string {
	try {
		return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
	} catch {
		return "";
	}
}
