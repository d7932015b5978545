import { createHmac, hash } from "node:crypto";

/** Bytes of a block of SHA-256, and of its digest. */
const BLOCK = 64;
const DIGEST = 32;

/** Longest text, in UTF-16 units, that is hashed in one step: UTF-8 needs up to three bytes for each. */
const MAX_SHORT = 2048;

/** Inner and outer input of an HMAC. Each call overwrites them, and none waits for anything between writing and reading. */
const inner = Buffer.alloc(BLOCK + 3 * MAX_SHORT);
const outer = Buffer.alloc(BLOCK + DIGEST);

/**
 * Makes HMAC-SHA-256 under a key of at most 64 bytes. For short texts it hashes twice in one step each, in half the time of Node's
 * Hmac, which is a stream. @returns a function from a text to 64 hexadecimal digits. Source: RFC 2104
 */
export function shortHmac(key: Buffer): (text: string) => string {
	const innerKey = padded(key, 0x36);
	const outerKey = padded(key, 0x5c);
	return (text) => {
		if (text.length > MAX_SHORT) return createHmac("sha256", key).update(text).digest("hex");
		innerKey.copy(inner);
		const end = BLOCK + inner.write(text, BLOCK);
		outerKey.copy(outer);
		outer.write(hash("sha256", inner.subarray(0, end), "latin1"), BLOCK, "latin1");
		return hash("sha256", outer, "hex");
	};
}

function padded(key: Buffer, pad: number): Buffer {
	return Buffer.alloc(BLOCK).map((_, at) => (key[at] ?? 0) ^ pad) as Buffer;
}
