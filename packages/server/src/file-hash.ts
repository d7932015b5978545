import { createHash } from "node:crypto";
import { closeSync, createReadStream, openSync, readSync } from "node:fs";

const PART_BYTES = 65_536;

/** Computes the SHA-256 of a file's first bytes, hexadecimal, while others go on. @param bytes the whole file by default */
export async function hashFile(file: string, bytes: number = Number.POSITIVE_INFINITY): Promise<string> {
	const digest = createHash("sha256");
	if (bytes > 0) for await (const part of createReadStream(file, { end: bytes - 1 })) digest.update(part);
	return digest.digest("hex");
}

/** Computes the SHA-256 of a file, hexadecimal, in parts: it never holds the whole file in memory. */
export function hashFileSync(file: string): string {
	const digest = createHash("sha256");
	const part = Buffer.alloc(PART_BYTES);
	const handle = openSync(file, "r");
	try {
		for (let size = readSync(handle, part); size > 0; size = readSync(handle, part))
			digest.update(part.subarray(0, size));
	} finally {
		closeSync(handle);
	}
	return digest.digest("hex");
}
