/** Milliseconds that all long work of one kind may take in one turn of the event loop. */
const SHARE_MS = 8;

/** Interleaves long answers, or large bodies, without holding up a turn: writes that succeed immediately would never end the turn. Design: §13 */
export class Pace {
	#used_ms = 0;
	#next: NodeJS.Immediate | undefined;
	readonly #waiting: (() => void)[] = [];

	/** Does a step, in a later turn once this one's share is used up; the longest waiting step goes first. */
	async step<T>(work: () => Promise<T>): Promise<T> {
		if (this.#used_ms >= SHARE_MS || this.#waiting.length > 0) {
			this.#next ??= setImmediate(() => this.#begin());
			await new Promise<void>((resolve) => this.#waiting.push(resolve));
		}
		let counted = performance.now();
		const count = () => {
			const now = performance.now();
			this.#used_ms += now - counted;
			counted = now;
			this.#next ??= setImmediate(() => this.#begin());
		};
		try {
			const working = work();
			// The synchronous part is counted before another step begins.
			count();
			return await working;
		} finally {
			count();
		}
	}

	#begin(): void {
		this.#used_ms = 0;
		this.#waiting.shift()?.();
		this.#next = this.#waiting.length > 0 ? setImmediate(() => this.#begin()) : undefined;
	}
}
