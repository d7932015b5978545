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

/** The machine's own clock and random source. */
export const system: System = {
	now: () => new Date(),
	randomBytes: (size) => randomBytes(size),
	uuid: () => randomUUIDv7(),
};
