import { randomBytes, randomUUIDv7 } from "node:crypto";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

/** The impure inputs of every rule: tests replace them, nothing else reads a clock or a random source. */
export interface System {
	/** The wall clock. */
	now(): Date;
	/** `size` cryptographically random bytes. */
	randomBytes(size: number): Buffer;
	/** Milliseconds since the machine started, those in which it slept included. */
	uptimeMs(): number;
	/** Names this start of the machine; empty where there is no such name. */
	bootId(): string;
	/** A new identifier: UUID version 7, so that rows made one after the other lie side by side. */
	uuid(): string;
}

/** Random bytes fetched at once: asking the kernel for 24 costs as much as asking for 4,096. */
const POOL_BYTES = 4096;

/** Gives out bytes of a pool, each once, and wipes what it gave. */
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

/** How long the machine's uptime is counted on from its last reading, in milliseconds. */
const UPTIME_READ_MS = 100;

/** Reading the uptime opens a file, which takes 10 µs. In between the process's own clock counts on; it stands still while the machine sleeps. */
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
