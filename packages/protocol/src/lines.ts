const LINE_FEED = 0x0a;

/** Where the lines of a stream go. */
export interface LineListener {
	/** A whole line, without its line feed. */
	onLine(line: Buffer): void;
	/** A line grew beyond the limit. Nothing more is delivered. */
	onOverflow(): void;
}

/**
 * Makes a function that takes a stream's chunks and gives out its lines. It holds at most `maxBytes` and the chunk at hand; readline would
 * hold a line without end until the process dies.
 * @param maxBytes longest line, without its line feed
 */
export function splitLines(maxBytes: number, listener: LineListener): (chunk: Buffer) => void {
	let held: Buffer[] = [];
	let size = 0;
	let isOver = false;

	const overflow = () => {
		isOver = true;
		held = [];
		listener.onOverflow();
	};

	return (chunk) => {
		let start = 0;
		while (!isOver && start <= chunk.length) {
			const end = chunk.indexOf(LINE_FEED, start);
			const part = chunk.subarray(start, end < 0 ? chunk.length : end);
			size += part.length;
			if (size > maxBytes) return overflow();
			if (end < 0) {
				if (part.length > 0) held.push(part);
				return;
			}
			const line = held.length === 0 ? part : Buffer.concat([...held, part]);
			held = [];
			size = 0;
			start = end + 1;
			listener.onLine(line);
		}
	};
}
