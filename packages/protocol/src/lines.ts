const LINE_FEED = 0x0a;

/** First size of the buffer for a line that comes in parts; it then doubles. */
const FIRST_BYTES = 1024;
const NOTHING = Buffer.alloc(0);

/** Receives the lines of a stream. */
export interface LineListener {
	/** A whole line, without its line feed. */
	onLine(line: Buffer): void;
	/** A line grew beyond the limit. Nothing more is delivered. */
	onOverflow(): void;
}

/**
 * Makes a function that splits a stream's chunks into lines. It keeps at most `maxBytes` and the current chunk, even when every
 * chunk is one byte; readline would keep an endless line until the process dies.
 * @param maxBytes longest line, without its line feed
 */
export function splitLines(maxBytes: number, listener: LineListener): (chunk: Buffer) => void {
	let held = NOTHING;
	let size = 0;
	let isOver = false;

	const hold = (part: Buffer) => {
		if (part.length === 0) return;
		const needed = size + part.length;
		if (needed > held.length) {
			const larger = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(FIRST_BYTES, held.length * 2, needed)));
			held.copy(larger, 0, 0, size);
			held = larger;
		}
		part.copy(held, size);
		size = needed;
	};

	/** The listener owns the line: its bytes are never written again. */
	const take = () => {
		const line = held.subarray(0, size);
		held = NOTHING;
		size = 0;
		return line;
	};

	return (chunk) => {
		let start = 0;
		while (!isOver) {
			const end = chunk.indexOf(LINE_FEED, start);
			const part = chunk.subarray(start, end < 0 ? chunk.length : end);
			if (size + part.length > maxBytes) {
				isOver = true;
				take();
				return listener.onOverflow();
			}
			if (end >= 0 && size === 0) listener.onLine(part);
			else hold(part);
			if (end < 0) return;
			if (size > 0) listener.onLine(take());
			start = end + 1;
		}
	};
}
