import type { Readable, Writable } from "node:stream";
import { hasReaderLeft, writeBytes } from "../io/io.ts";
import { createMasker } from "./mask.ts";

/** Copy of a program's output, under way. */
export interface Copy {
	/** Everything is out. @throws the system's error when it cannot be written, such as ENOSPC */
	readonly done: Promise<void>;
	/**
	 * Limits the wait, once the program has ended, for processes that it left running: they may hold its output open. All that the program itself
	 * has written is passed on, however slowly it is read.
	 * @returns ends the limit
	 */
	giveUpLeftOver(): Disposable;
}

/** Copies a program's output, with the values masked, until its end. When the reader leaves, the program notices it as with a pipe. */
export function copyMasked(source: Readable, target: Writable, values: readonly string[]): Copy {
	const taken = { bytes: 0 };
	return { done: copy(source, target, values, taken), giveUpLeftOver: () => giveUpLeftOver(source, target, taken) };
}

async function copy(source: Readable, target: Writable, values: readonly string[], taken: Taken): Promise<void> {
	const masker = createMasker(values);
	try {
		for await (const chunk of chunksOf(source)) {
			taken.bytes += chunk.length;
			await writeBytes(target, masker.push(chunk));
		}
		await writeBytes(target, masker.end());
	} catch (error) {
		if (!hasReaderLeft(error)) throw error;
	}
}

/** Progress of a copy. */
interface Taken {
	bytes: number;
}

/** Yields what is read until the stream ends, or is given up. */
async function* chunksOf(source: Readable): AsyncGenerator<Buffer, void, undefined> {
	try {
		yield* source as AsyncIterable<Buffer>;
	} catch (error) {
		if (!source.destroyed) throw error;
	}
}

const LOOK_MS = 250;
/** Looks that find nothing to copy: in a row, and in all. The program's own output lies in the pipe, where every look finds it. */
const [SILENT_LOOKS, IDLE_LOOKS] = [8, 40];
/** More than any pipe holds: output beyond this cannot be the program's own. */
const MAX_LEFT_OVER_BYTES = 16 * 1024 * 1024;

/** Counts looks, not time: a reader that pauses may hold up this whole process, and data that waited meanwhile is read before the next look. */
function giveUpLeftOver(source: Readable, target: Writable, taken: Readonly<Taken>): Disposable {
	const most = taken.bytes + MAX_LEFT_OVER_BYTES;
	let [seen, silent, idle] = [taken.bytes, 0, 0];
	const look = () => {
		// The reader may take its time.
		if (target.writableLength > 0) return;
		silent = taken.bytes === seen ? silent + 1 : 0;
		seen = taken.bytes;
		idle++;
		if (silent >= SILENT_LOOKS || idle >= IDLE_LOOKS || seen > most) source.destroy();
	};
	const timer = setInterval(look, LOOK_MS);
	return { [Symbol.dispose]: () => clearInterval(timer) };
}
