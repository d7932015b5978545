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

/** The machine's own clock and random source. */
export const system: System = {
	now: () => new Date(),
	randomBytes: pooled(),
	uptimeMs: () => Math.round(uptime() * 1000),
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
