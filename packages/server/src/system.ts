import { randomBytes, randomUUIDv7 } from "node:crypto";

/** The impure inputs of every rule: tests replace them, nothing else reads a clock or a random source. */
export interface System {
	/** The wall clock. */
	now(): Date;
	/** `size` cryptographically random bytes. */
	randomBytes(size: number): Buffer;
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
	uuid: () => randomUUIDv7(),
};
