import type { Readable, Writable } from "node:stream";
import { hasReaderLeft, writeBytes } from "../io.ts";
import { createMasker } from "./mask.ts";

/**
 * Copies what a program writes, with the values masked, until its end. When nobody reads it any more, the program is told so as by a pipe.
 * @throws the system's error when it cannot be written, such as ENOSPC
 */
export async function copyMasked(source: Readable, target: Writable, values: readonly string[]): Promise<void> {
	const masker = createMasker(values);
	try {
		for await (const chunk of chunksOf(source)) await writeBytes(target, masker.push(chunk));
		await writeBytes(target, masker.end());
	} catch (error) {
		if (!hasReaderLeft(error)) throw error;
	}
}

/** What is read until the stream ends, or is given up. */
async function* chunksOf(source: Readable): AsyncGenerator<Buffer, void, undefined> {
	try {
		yield* source as AsyncIterable<Buffer>;
	} catch (error) {
		if (!source.destroyed) throw error;
	}
}
